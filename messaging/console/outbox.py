"""The outbox in the admin: what waits, what went, and what the relay has given up.

One verb: a parked row is tried again, by whoever has the permission for it.
"""

import uuid
from itertools import islice
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from messaging.console.known_names import ConsumerFilter, TypeFilter
from messaging.console.lists import ConsoleList, fact, short_error
from messaging.console.quoting import WITHHELD, PayloadAdmin
from messaging.console.rights import operator_of
from messaging.models import OutboxMessage
from messaging.read_only_admin import CappedPaginator, preview
from messaging.sending import parked_rows

HISTORY_LINES_AT_ONCE = 500


class OutboxMessageAdmin(ConsoleList, PayloadAdmin):
    where = here = "outbox"
    heading = _("Outbox")
    list_display = (
        "id",
        "of_fact",
        "state",
        "attempts",
        "error",
        "created_at",
        "sent_at",
    )
    list_filter = ("state", TypeFilter, ConsumerFilter)
    filters_by_index = frozenset({"state__exact"})
    # A filter has to pass over the bodies that lie between.
    NEWEST = 50_000
    foreign_texts = ("last_error",)
    exclude = left_out_of_lists = ("body", "header_table")
    readonly_fields = ("body_text",)
    actions = ("try_again",)

    def about(self, material_id: str, event_id: uuid.UUID | None) -> Q:
        wanted = Q(material_id=material_id)
        if event_id:
            # Each has an index of its own.
            wanted |= Q(event_id=event_id, consumer="") | Q(~Q(consumer=""), event_id=event_id)
        return wanted

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("messaging.retry_outboxmessage")

    @admin.display(description=_("fact"))
    def of_fact(self, row: OutboxMessage) -> str:
        return fact(row.type, row.material_id, row.revision).strip() or "—"

    @admin.display(description=_("last error"))
    def error(self, row: OutboxMessage) -> str:
        return short_error(row.last_error)

    @admin.display(description=_("body"))
    def body_text(self, row: Any) -> str:
        if row.letter_id is not None:
            url = reverse("admin:messaging_deadletter_change", args=[row.letter_id])
            said = _("Sent again for letter %d: its body is there.") % row.letter_id
            return format_html('<a href="{}">{}</a>', url, said)
        return preview(row.body) if row.is_seen else str(WITHHELD)

    @admin.action(description=_("Try again to send the failed ones"), permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutboxMessage]) -> None:
        with transaction.atomic(using=queryset.db):
            self._write_into_history(request, queryset.filter(state=OutboxMessage.State.FAILED))
            operator = operator_of(request)
            count = parked_rows.retry_failed(operator=operator, using=queryset.db, among=queryset)
        said = ngettext(
            "%(count)d failed message will be tried again.",
            "%(count)d failed messages will be tried again.",
            count,
        )
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, said % {"count": count}, level)

    def _write_into_history(self, request: HttpRequest, rows: QuerySet[OutboxMessage]) -> None:
        """Each row's own page tells of it too: Django's log, in few statements."""
        kind = ContentType.objects.db_manager(rows.db).get_for_model(OutboxMessage)
        lines = (
            LogEntry(
                user_id=cast(int, request.user.pk),
                content_type=kind,
                object_id=str(row.pk),
                object_repr=str(row)[:200],
                action_flag=CHANGE,
                change_message="Try again",
            )
            for row in rows.defer(*self.left_out_of_lists)[: CappedPaginator.MOST].iterator()
        )
        while some := list(islice(lines, HISTORY_LINES_AT_ONCE)):
            LogEntry.objects.using(rows.db).bulk_create(some)
