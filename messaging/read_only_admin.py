"""Records in the admin that nobody edits, in tables too large to be counted."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import AutoField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html

from messaging.inert_text import inert_block

if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
    AnyModelAdmin = admin.ModelAdmin[Any]
else:  # Generic for the type checker alone.
    AnyPaginator = Paginator
    AnyModelAdmin = admin.ModelAdmin

PREVIEW_BYTES = 16 * 1024


class CappedPaginator(AnyPaginator):
    """Counts no further than `MOST` rows: counting a table of millions takes seconds.

    Rows beyond are reached by searching and filtering, not by leafing.
    """

    MOST = 10_000

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        if isinstance(rows, QuerySet):
            # Without what the rows are annotated with, which would be worked out for each.
            return rows.order_by().values("pk")[: self.MOST].count()
        return min(len(rows), self.MOST)


class ReadOnlyAdmin(AnyModelAdmin):
    """To be looked at with the view permission alone; nothing is added, changed or deleted.

    Sorting by a column is off, since a table of millions is only quick in its own order.
    """

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    list_per_page = 50
    list_max_show_all = 0
    actions_selection_counter = True

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Leaves out of the chosen ids what is none; Django would answer 500."""
        if isinstance(self.opts.pk, AutoField):
            chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
            post = request.POST.copy()
            sound = [text for text in chosen if as_row_id(text) is not None]
            post.setlist(ACTION_CHECKBOX_NAME, sound)
            request.POST = post  # type: ignore[assignment]  # its own copy may be changed
        return super().response_action(request, queryset, *args, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def as_row_id(text: str) -> int | None:
    """The number that a row may have; None for what no database would even compare."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def preview(data: bytes | memoryview) -> str:
    """Bytes as inert text in a page, cut at PREVIEW_BYTES."""
    return format_html("<pre>{}</pre>", inert_block(bytes(data), limit_bytes=PREVIEW_BYTES))
