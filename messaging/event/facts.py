"""What a dead body says of its fact, where it can be believed, though it may be no event.

Read for people: the console lists and searches by it. Nothing is decided by it but which
receipt a requeued letter waits for.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from messaging.event.fields import MATERIAL_ID
from messaging.event.json_strict import MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class Facts:
    """Each is None unless the body gives a value that would be valid in an event."""

    event_id: UUID | None = None
    type: str | None = None
    material_id: str | None = None
    revision: int | None = None


def read_facts(body: bytes) -> Facts:
    """What can be read. Never raises, whatever the bytes are, and never takes long."""
    if len(body) <= 4 * MAX_BODY_BYTES:
        found = _read_leniently(body)
    else:
        found = _read_without_building(body)
    return Facts(
        event_id=_event_id(found.get("eventId")),
        type=_text(found.get("type"), _TYPE),
        material_id=_text(found.get("materialId"), _MATERIAL_ID),
        revision=_revision(found.get("revision")),
    )


def _read_leniently(body: bytes) -> dict[str, Any]:
    """Past what makes an event malformed: a mark at the start, NaN, bytes behind the end."""
    text = body.decode("utf-8-sig", "replace").lstrip()
    try:
        document, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


class _Named(msgspec.Struct):
    eventId: Any = None  # noqa: N815 - as on the wire
    type: Any = None
    materialId: Any = None  # noqa: N815
    revision: Any = None


def _read_without_building(body: bytes) -> dict[str, Any]:
    """For what is too large to be an event: the other fields are passed over, not built."""
    try:
        return msgspec.structs.asdict(msgspec.json.decode(body, type=_Named))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What stands twice may mean either, and is taken for neither."""
    times = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if times[name] == 1}


def _short_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= 20 else None


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unambiguous, parse_int=_short_int, parse_constant=lambda _: None
)
_EVENT_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MATERIAL_ID = re.compile(MATERIAL_ID)


def _event_id(value: object) -> UUID | None:
    return UUID(value) if isinstance(value, str) and _EVENT_ID.fullmatch(value) else None


def _text(value: object, pattern: re.Pattern[str]) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _revision(value: object) -> int | None:
    return value if type(value) is int and 1 <= value < 2**63 else None
