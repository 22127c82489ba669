"""Decoded events for tests, each with an id of its own unless one is named."""

import uuid
from typing import Any

from messaging.envelope import Event, decode
from tests.messaging import event_bodies


def published(
    material_id: str = "article-107", revision: int = 1, *, title: str = "A title", **changes: Any
) -> Event:
    """A publication of that revision; `changes` are fields of the envelope."""
    data = {"title": title, "summary": "", "body": "A *body*"}
    return _fact(event_bodies.published, material_id, revision, data=data, **changes)


def withdrawn(
    material_id: str = "article-107", revision: int = 1, *, reason: str = "", **changes: Any
) -> Event:
    """A withdrawal at that revision."""
    return _fact(event_bodies.withdrawn, material_id, revision, data={"reason": reason}, **changes)


def _fact(make: Any, material_id: str, revision: int, **changes: Any) -> Event:
    changes.setdefault("eventId", str(uuid.uuid4()))
    document = make(materialId=material_id, revision=revision, **changes)
    return decode(event_bodies.as_bytes(document), event_bodies.TYPES)
