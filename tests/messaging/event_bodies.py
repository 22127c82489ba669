"""Bodies of events for tests, good ones and ones spoilt in one place."""

import json
from typing import Any

from materials.events import PUBLISHED, WITHDRAWN
from messaging import registry

TYPES = registry.event_types()
EVENT_ID = "0190a6f0-0000-7000-8000-000000000001"
ABSENT = object()


def published(**changes: Any) -> dict[str, Any]:
    """A whole `material.published`; a change to ABSENT takes the field out."""
    document = {
        "eventId": EVENT_ID,
        "type": PUBLISHED,
        "schemaVersion": 1,
        "occurredAt": "2026-01-02T03:04:05.000006Z",
        "materialId": "article-107",
        "revision": 3,
        "actor": "editor",
        "data": {"title": "A title", "summary": "A summary", "body": "A *body*"},
    }
    return _changed(document, changes)


def with_data(**changes: Any) -> dict[str, Any]:
    """A `material.published` whose data is changed."""
    document = published()
    document["data"] = _changed(document["data"], changes)
    return document


def withdrawn(**changes: Any) -> dict[str, Any]:
    document = published(type=WITHDRAWN, data={"reason": "Out of date"})
    return _changed(document, changes)


def as_bytes(document: Any) -> bytes:
    """JSON with every non-ASCII character escaped, so that lone surrogates can be written."""
    return json.dumps(document).encode("ascii")


def spliced(name: str, literal: str) -> bytes:
    """A good body with one more field, whose value is this very text."""
    good = as_bytes(published()).decode("ascii")
    return f'{good[:-1]}, "{name}": {literal}}}'.encode()


def replaced(name: str, literal: str) -> bytes:
    """A good body in which the value of this field is this very text."""
    marked = as_bytes(published(**{name: "\0here"})).decode("ascii")
    return marked.replace('"\\u0000here"', literal).encode()


def _changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = document | changes
    return {name: value for name, value in merged.items() if value is not ABSENT}
