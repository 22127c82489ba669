"""The audit trail in the admin, to look at."""

import uuid
from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from materials.audit.models import AuditRecord
from messaging.read_only_admin import ReadOnlyAdmin, preview


@admin.register(AuditRecord)
class AuditRecordAdmin(ReadOnlyAdmin):
    list_display = ("id", "type", "material_id", "revision", "actor", "occurred_at", "received_at")
    ordering = ("-id",)
    search_fields = ("event_id", "material_id")
    search_help_text = _("An event id or a material id, whole")
    exclude = ("envelope",)
    readonly_fields = ("envelope_text",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        # Equality, not the usual "contains", which no index answers.
        term = search_term.strip()
        if not term:
            return queryset, False
        wanted = Q(material_id=term)
        with suppress(ValueError):
            wanted |= Q(event_id=uuid.UUID(term))
        return queryset.filter(wanted), False

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditRecord]:
        rows: QuerySet[AuditRecord] = super().get_queryset(request)
        # The list shows no envelopes; fifty of them could be 12 MB.
        match = request.resolver_match
        return rows.defer("envelope") if match and "object_id" not in match.kwargs else rows

    @admin.display(description=_("envelope"))
    def envelope_text(self, record: AuditRecord) -> str:
        return preview(record.envelope.encode())
