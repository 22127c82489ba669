"""What HTTP caches may keep of the catalog: everything, after asking whether it still holds."""

from datetime import timedelta

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
    """Say since when the entry is as it is, once that cannot mislead any more.

    There is no such date for pages of many entries: what was applied earlier may be committed
    later, and would then be older than what a reader has. Their ETag tells a change.
    """
    if timezone.now() - entry.applied_at >= SETTLED_AFTER:
        response["Last-Modified"] = http_date(int(entry.applied_at.timestamp()))
