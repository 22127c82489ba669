"""What HTTP caches may keep of the catalog: everything, after asking whether it still holds."""

from datetime import datetime, timedelta

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.http import http_date

from materials.catalog.models import CatalogEntry

# Last-Modified counts whole seconds: a younger state could still be replaced within its second.
SETTLED_AFTER = timedelta(seconds=2)


def ask_before_reuse(response: HttpResponse) -> None:
    """Let caches keep the response and ask each time before they use it."""
    patch_cache_control(response, no_cache=True)


def ask_before_reuse_by_one_reader(response: HttpResponse, request: HttpRequest) -> None:
    """The same for a page, which follows the cookies; nobody shares that of someone signed in."""
    patch_cache_control(response, no_cache=True)
    if request.user.is_authenticated:
        patch_cache_control(response, private=True)
    patch_vary_headers(response, ["Cookie"])


def date_by_entry(response: HttpResponse, entry: CatalogEntry) -> None:
    """Say since when the entry is as it is, once that cannot mislead any more."""
    _date(response, entry.applied_at)


def date_by_catalog(response: HttpResponse) -> None:
    """Say since when the whole catalog is as it is; a withdrawal counts as a change too."""
    latest = CatalogEntry.objects.aggregate(latest=Max("applied_at"))["latest"]
    if latest is not None:
        _date(response, latest)


def _date(response: HttpResponse, moment: datetime) -> None:
    if timezone.now() - moment >= SETTLED_AFTER:
        response["Last-Modified"] = http_date(int(moment.timestamp()))
