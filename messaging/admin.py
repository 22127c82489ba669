"""Delivery in the admin: the outbox, the receipts and the failed attempts, to look at.

One verb: a parked outbox row is tried again, by whoever has the permission for it. The pages
about dead letters, queues and pauses are in `console`.
"""

import uuid
from collections.abc import Iterable
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
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from messaging import registry
from messaging.console.batches import BatchAdmin
from messaging.console.letters import LetterAdmin
from messaging.console.lists import ConsoleList, fact, short_error, short_id
from messaging.console.log_pages import DecisionAdmin
from messaging.console.queues import QueueAdmin
from messaging.console.rights import operator_of
from messaging.console.sightings import may_see_payload
from messaging.models import (
    DeadLetter,
    FailedAttempt,
    InboxReceipt,
    OperatorBatch,
    OperatorDecision,
    OutboxMessage,
    Pause,
    RelayLease,
)
from messaging.read_only_admin import CappedPaginator, FactAdmin, ReadOnlyAdmin, preview
from messaging.sending import parked_rows

HISTORY_LINES_AT_ONCE = 500


class _KnownNames(admin.SimpleListFilter):
    """Filters by the names that the code knows; asking a large table for its own is slow."""

    parameter_name: str

    def names(self) -> Iterable[str]:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted(set(self.names()))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (value := self.value()) is None:
            return queryset
        if value not in self.names():
            return queryset.none()
        return queryset.filter(**{self.parameter_name: value})


class TypeFilter(_KnownNames):
    title = _("type")
    parameter_name = "type"

    def names(self) -> Iterable[str]:
        return (name for name, _version in registry.event_types())


class ConsumerFilter(_KnownNames):
    title = _("consumer")
    parameter_name = "consumer"

    def names(self) -> Iterable[str]:
        return (each.name for each in registry.consumers())


class PayloadAdmin(FactAdmin):
    """A row's own page may quote a payload: shown to those with the right, each look logged."""

    where: str

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row: Any = super().get_object(request, object_id, from_field)
        if row is not None:
            row.is_seen = may_see_payload(request, where=self.where, of={"row": row.pk})
        return row


WITHHELD = _("Not shown: your account has no right to see payloads, or the log cannot be written.")


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ConsoleList, PayloadAdmin):
    where = here = "outbox"
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
    foreign_texts = ("last_error",)
    exclude = ("body", "header_table")
    readonly_fields = ("body_text",)
    actions = ("try_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[OutboxMessage]:
        rows: QuerySet[OutboxMessage] = super().get_queryset(request)
        # The list shows no bodies; fifty of them could be 12 MB.
        match = request.resolver_match
        return (
            rows.defer("body", "header_table")
            if match and "object_id" not in match.kwargs
            else rows
        )

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
            for row in rows.defer("body", "header_table")[: CappedPaginator.MOST].iterator()
        )
        while some := list(islice(lines, HISTORY_LINES_AT_ONCE)):
            LogEntry.objects.using(rows.db).bulk_create(some)


@admin.register(InboxReceipt)
class InboxReceiptAdmin(ConsoleList, FactAdmin):
    here = "receipts"
    list_display = (
        "id",
        "consumer",
        "of_fact",
        "event",
        "outcome",
        "duplicates",
        "handled_at",
    )
    list_filter = ("outcome", ConsumerFilter, TypeFilter)
    exclude = ("fingerprint", "content_fingerprint")
    readonly_fields = ("fingerprint_hex",)

    def about(self, material_id: str, event_id: uuid.UUID | None) -> Q:
        # The indexes begin with the consumer.
        consumers = _consumers_in(InboxReceipt)
        wanted = Q(consumer__in=consumers, material_id=material_id, names_revision=True)
        wanted |= Q(material_id=material_id, names_revision=False)
        return wanted | Q(consumer__in=consumers, event_id=event_id) if event_id else wanted

    @admin.display(description=_("fact"))
    def of_fact(self, row: InboxReceipt) -> str:
        return fact(row.type, row.material_id, row.revision)

    @admin.display(description=_("event"))
    def event(self, row: InboxReceipt) -> str:
        return short_id(row.event_id)

    @admin.display(description=_("fingerprint"))
    def fingerprint_hex(self, row: InboxReceipt) -> str:
        return bytes(row.fingerprint).hex()


@admin.register(FailedAttempt)
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
    list_filter = ("transient", ConsumerFilter, TypeFilter)
    # Each row holds a traceback that has to be passed over.
    NEWEST = 20_000
    foreign_texts = ("error_class", "error_text")
    exclude = ("attempt", "traceback")
    readonly_fields = ("try_number", "traceback_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[FailedAttempt]:
        rows: QuerySet[FailedAttempt] = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer("traceback") if match and "object_id" not in match.kwargs else rows

    def about(self, material_id: str, event_id: uuid.UUID | None) -> Q:
        wanted = Q(material_id=material_id)
        if event_id:
            wanted |= Q(consumer__in=_consumers_in(FailedAttempt), event_id=event_id)
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


@admin.register(RelayLease)
class RelayLeaseAdmin(ConsoleList, ReadOnlyAdmin):
    here = "queues"
    list_display = ("name", "owner", "expires_at")


admin.site.register(DeadLetter, LetterAdmin)
admin.site.register(Pause, QueueAdmin)
admin.site.register(OperatorDecision, DecisionAdmin)
admin.site.register(OperatorBatch, BatchAdmin)


def _consumers_in(model: type[InboxReceipt] | type[FailedAttempt]) -> list[str]:
    """Of all its rows, those of consumers that are no more too: one step along an index each."""
    found: list[str] = []
    rows = model._default_manager.order_by("consumer").values_list("consumer", flat=True)
    while following := rows.filter(consumer__gt=found[-1] if found else "").first():
        found.append(following)
    return found
