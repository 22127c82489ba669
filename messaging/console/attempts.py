"""The failed attempts in the admin, to look at: what a consumer could not handle, and why."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from messaging.console.known_names import ConsumerFilter, TypeFilter, consumers_in
from messaging.console.lists import ConsoleList, fact, short_error, short_id
from messaging.console.quoting import WITHHELD, PayloadAdmin
from messaging.models import FailedAttempt
from messaging.read_only_admin import preview


class KindFilter(admin.SimpleListFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("transient", _("transient")), ("permanent", _("permanent"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case "transient" | "permanent" as kind:
                return queryset.filter(transient=kind == "transient")
            case _:
                return queryset.none()


class FailedAttemptAdmin(ConsoleList, PayloadAdmin):
    where = "attempt"
    here = "attempts"
    list_display = (
        "id",
        "consumer",
        "of_fact",
        "event",
        "try_number",
        "kind",
        "failure",
        "failed_at",
    )
    list_filter = (KindFilter, ConsumerFilter, TypeFilter)
    # Each row holds a traceback that has to be passed over.
    NEWEST = 20_000
    foreign_texts = ("error_class", "error_text")
    exclude = ("attempt", "traceback")
    left_out_of_lists = ("traceback",)
    readonly_fields = ("try_number", "traceback_text")

    def about(self, material_id: str, event_id: uuid.UUID | None) -> Q:
        wanted = Q(material_id=material_id)
        if event_id:
            wanted |= Q(consumer__in=consumers_in(FailedAttempt), event_id=event_id)
        return wanted

    @admin.display(description=_("fact"))
    def of_fact(self, row: FailedAttempt) -> str:
        return fact(row.type, row.material_id, row.revision)

    @admin.display(description=_("event"))
    def event(self, row: FailedAttempt) -> str:
        return short_id(row.event_id)

    @admin.display(description=_("attempt"))
    def try_number(self, row: FailedAttempt) -> int:
        return row.attempt + 1

    @admin.display(description=_("kind"))
    def kind(self, row: FailedAttempt) -> str:
        return gettext("transient") if row.transient else gettext("permanent")

    @admin.display(description=_("failure"))
    def failure(self, row: FailedAttempt) -> str:
        return format_html("<b>{}</b> {}", row.error_class, short_error(row.error_text))

    @admin.display(description=_("traceback"))
    def traceback_text(self, row: Any) -> str:
        if not row.is_seen:
            return str(WITHHELD)
        return preview(row.traceback.encode("utf-8", "backslashreplace"))
