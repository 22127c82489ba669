"""What HTTP caches may keep of the catalog: everything, after asking whether it still holds."""

from datetime import timedelta

from django.http import HttpResponse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.http import http_date

from materials.catalog.models import CatalogEntry

# Last-Modified counts whole seconds: a younger state could still be replaced within its second.
SETTLED_AFTER = timedelta(seconds=2)


def ask_before_reuse(response: HttpResponse) -> None:
    """Let caches keep the response and ask each time before they use it."""
    patch_cache_control(response, no_cache=True)


def date_by_entry(response: HttpResponse, entry: CatalogEntry) -> None:
    """Say since when the entry is as it is, once that cannot mislead any more."""
    if timezone.now() - entry.applied_at >= SETTLED_AFTER:
        response["Last-Modified"] = http_date(int(entry.applied_at.timestamp()))
