"""What the catalog knows of a material, for an operator to compare before and after."""

from typing import Any

from materials.catalog.models import CatalogEntry


def describe(material_id: str, using: str) -> dict[str, Any]:
    """The material as it stands for readers; empty where the catalog has never heard of it."""
    entry = CatalogEntry.objects.using(using).filter(pk=material_id).first()
    return {} if entry is None else {name: getattr(entry, name) for name in _NAMES}


_NAMES = (
    "revision",
    "visible",
    "title",
    "summary",
    "body",
    "language",
    "tags",
    "withdrawn_reason",
)
