"""The audit trail in the admin, to look at."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from materials.audit.models import AuditRecord
from messaging.read_only_admin import FactAdmin, preview


@admin.register(AuditRecord)
class AuditRecordAdmin(FactAdmin):
    list_display = ("id", "type", "material_id", "revision", "actor", "occurred_at", "received_at")
    exclude = left_out_of_lists = ("envelope",)
    readonly_fields = ("envelope_text",)

    @admin.display(description=_("envelope"))
    def envelope_text(self, record: AuditRecord) -> str:
        return preview(record.envelope.encode())
