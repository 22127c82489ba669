"""What the audit knows of a material, for an operator to compare before and after."""

from typing import Any

from materials.audit.models import AuditRecord


def describe(material_id: str, using: str) -> dict[str, Any]:
    """How many of its facts are recorded, and which came last."""
    records = AuditRecord.objects.using(using).filter(material_id=material_id)
    last = records.defer("envelope").last()
    return {
        "records": records.count(),
        "last_event_id": str(last.event_id) if last else None,
        "last_revision": last.revision if last else None,
    }
