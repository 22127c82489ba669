"""Facts for the projections, and handling them as a worker would."""

from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction

from materials import events
from materials.catalog.models import CatalogEntry
from materials.catalog.projection import apply
from messaging.envelope import Event


def published(material_id: str = "article-107", revision: int = 1, **fields: Any) -> Event:
    """A publication of that revision."""
    fields = {"title": f"Title {revision}", "summary": "", "body": "Text.", **fields}
    return events.published(material_id=material_id, revision=revision, **fields)


def withdrawn(
    material_id: str = "article-107", revision: int = 1, *, reason: str = "", **fields: Any
) -> Event:
    """A withdrawal at that revision."""
    return events.withdrawn(material_id=material_id, revision=revision, reason=reason, **fields)


def project(*batch: Event) -> set[str]:
    """Apply these events as one batch; the ids of the stale ones."""
    return project_batch(batch)


def project_batch(batch: Sequence[Event]) -> set[str]:
    with transaction.atomic():
        return apply(batch, DEFAULT_DB_ALIAS)


def entry(material_id: str = "article-107") -> CatalogEntry:
    return CatalogEntry.objects.get(pk=material_id)
