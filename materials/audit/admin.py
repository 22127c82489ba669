"""The audit trail in the admin, to look at."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from materials.audit.models import AuditRecord
from messaging.read_only_admin import FactAdmin, preview


@admin.register(AuditRecord)
class AuditRecordAdmin(FactAdmin):
    list_display = ("id", "type", "material_id", "revision", "actor", "occurred_at", "received_at")
    exclude = ("envelope",)
    readonly_fields = ("envelope_text",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditRecord]:
        rows: QuerySet[AuditRecord] = super().get_queryset(request)
        # The list shows no envelopes; fifty of them could be 12 MB.
        match = request.resolver_match
        return rows.defer("envelope") if match and "object_id" not in match.kwargs else rows

    @admin.display(description=_("envelope"))
    def envelope_text(self, record: AuditRecord) -> str:
        return preview(record.envelope.encode())
