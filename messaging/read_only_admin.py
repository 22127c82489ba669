"""Records in the admin that nobody edits, in tables too large to be counted."""

import uuid
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import IGNORED_PARAMS, PAGE_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import AutoField, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from messaging.running.inert_text import inert, inert_block

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
    # The columns that may quote what a message, a broker or a server said.
    foreign_texts: tuple[str, ...] = ()
    # Columns that no list shows: fifty rows of a page could be megabytes of them.
    left_out_of_lists: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        match = request.resolver_match
        of_one_row = match is None or "object_id" in match.kwargs
        return rows if of_one_row else rows.defer(*self.left_out_of_lists)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Not "Select … to view": that needs another case of the name in Russian.
        named = {
            "title": capfirst(self.opts.verbose_name_plural),
            "is_nav_sidebar_enabled": False,  # its place goes to the columns
        }
        return super().changelist_view(request, {**named, **(extra_context or {})})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        named = {"title": capfirst(self.opts.verbose_name)}
        return super().change_view(request, object_id, form_url, {**named, **(extra_context or {})})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        for row in shown.result_list:
            self._make_showable(row)
        shown.show_admin_actions = shown.result_count > 0
        return shown

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row = super().get_object(request, object_id, from_field)
        return row if row is None else self._make_showable(row)

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

    def _make_showable(self, row: Model) -> Model:
        for name in self.foreign_texts:
            setattr(row, name, inert(getattr(row, name)))
        for name, value in list(vars(row).items()):
            if isinstance(value, datetime) and not _has_local_time(value):
                setattr(row, name, _AsWritten.combine(value.date(), value.timetz()))
        return row


class FactAdmin(ReadOnlyAdmin):
    """Rows about facts, the newest first: found by an event's or a material's id, given whole.

    What no index serves is looked for among the newest rows alone, and the page says so.
    """

    NEWEST = 100_000

    ordering = ("-id",)
    search_fields = ("event_id", "material_id")
    search_help_text = _("An event id or a material id, whole")
    # The filters that an index answers, however old the rows are.
    filters_by_index: frozenset[str] = frozenset()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        # Equality, not the usual "contains", which no index answers.
        if term := search_term.strip():
            event_id = None
            with suppress(ValueError):
                event_id = uuid.UUID(term)
            return queryset.filter(self.about(term, event_id)), False
        if self._is_filtered(request):
            last = queryset.model._default_manager.using(queryset.db).order_by("-pk")
            beyond = (last.values_list("pk", flat=True).first() or 0) - self.NEWEST
            if beyond > 0:
                setattr(request, _LOOKED_AMONG, self.NEWEST)
                queryset = queryset.filter(pk__gt=beyond)
        return queryset, False

    def about(self, material_id: str, event_id: uuid.UUID | None) -> Q:
        """The rows of this material, or else of this event."""
        return Q(material_id=material_id) | (Q(event_id=event_id) if event_id else Q())

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown: Any = super().get_changelist_instance(request)
        shown.looked_among = getattr(request, _LOOKED_AMONG, None)
        return cast(ChangeList, shown)

    def _is_filtered(self, request: HttpRequest) -> bool:
        return bool({*request.GET} - _NO_FILTERS - self.filters_by_index)


class _AsWritten(datetime):
    """Shown in the zone it has: at an end of the calendar there is no other.

    https://docs.djangoproject.com/en/5.2/topics/i18n/timezones/
    """

    convert_to_local_time = False


def _has_local_time(moment: datetime) -> bool:
    try:
        timezone.localtime(moment)
    except OverflowError:
        return False
    return True


def as_row_id(text: str) -> int | None:
    """The number that a row may have; None for what no database would even compare."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def preview(data: bytes | memoryview) -> str:
    """Bytes as inert text in a page, cut at PREVIEW_BYTES."""
    return format_html("<pre>{}</pre>", inert_block(bytes(data), limit_bytes=PREVIEW_BYTES))


# Where a request keeps among how many of the newest rows its list was looked for.
_LOOKED_AMONG = "rows_looked_among"
_NO_FILTERS = frozenset({*IGNORED_PARAMS, PAGE_VAR})
