"""The receipts in the admin, to look at: what each consumer has handled, and with what outcome."""

import uuid

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from messaging.console.known_names import ConsumerFilter, TypeFilter, consumers_in
from messaging.console.lists import ConsoleList, fact, short_id
from messaging.models import InboxReceipt
from messaging.read_only_admin import FactAdmin


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
        consumers = consumers_in(InboxReceipt)
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
