"""The wire format: bytes to a frozen value and back, the same rules for sender and receiver.

`decode` is the only door for bytes from a queue, `new_event` the only maker of new ones.
Nothing here knows what a material's data is: the types come from `messaging.registry`.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from messaging.errors import InvalidAttempt, MalformedEvent, UnsupportedEvent
from messaging.event.fields import Envelope
from messaging.event.ids import new_event_id
from messaging.event.json_strict import MAX_BODY_BYTES, parse, quote, without
from messaging.event.times import read_time, write_time

__all__ = [
    "MAX_ATTEMPT",
    "MAX_BODY_BYTES",
    "Event",
    "decode",
    "new_event",
    "read_attempt",
]

MAX_ATTEMPT = 3
SCHEMA_VERSION = 1

EventTypes = Mapping[tuple[str, int], type[Any]]


class Event(Struct, frozen=True, kw_only=True):
    """One fact of a material, as received or as it will be sent."""

    event_id: str
    type: str
    schema_version: int
    occurred_at: datetime  # UTC
    occurred_at_text: str  # as received
    material_id: str
    revision: int
    actor: str | None
    data: Any  # the Struct registered for type and schema_version
    body: bytes  # exactly as received or built
    fingerprint: bytes  # SHA-256 of the canonical document
    content_fingerprint: bytes  # the same without eventId and occurredAt
    document: dict[str, Any]  # the parsed object, unknown fields included

    def __repr__(self) -> str:
        return f"<Event {self.event_id} {self.type} {self.material_id} r{self.revision}>"


def decode(body: bytes, types: EventTypes) -> Event:
    """The event that these bytes are.

    Raises MalformedEvent or UnsupportedEvent and nothing else, whatever the bytes are. A value
    of a wrong JSON type is refused, never converted; unknown extra fields are kept.
    """
    document, canonical = parse(body)
    data_type = _data_type(document, types)
    try:
        fields = msgspec.convert(document, _envelope_of(data_type))
    except msgspec.ValidationError as error:
        raise MalformedEvent(_sentence(error)) from error
    _refuse_null_data(document["data"], data_type)
    occurred_at = read_time(fields.occurred_at)
    return Event(
        event_id=fields.event_id,
        type=fields.type,
        schema_version=fields.schema_version,
        occurred_at=occurred_at,
        occurred_at_text=fields.occurred_at,
        material_id=fields.material_id,
        revision=fields.revision,
        actor=None if fields.actor is UNSET else fields.actor,
        data=fields.data,
        body=body,
        fingerprint=sha256(canonical).digest(),
        content_fingerprint=sha256(_without_identity(canonical, fields)).digest(),
        document=document,
    )


def new_event(
    *,
    type: str,  # noqa: A002 - the contract's name
    material_id: str,
    revision: int,
    data: Struct,
    types: EventTypes,
    actor: str | None = None,
    occurred_at: datetime | None = None,
) -> Event:
    """A new fact with an identity of its own.

    Raises MalformedEvent (or UnsupportedEvent) for what any consumer would refuse, and
    ValueError for an `occurred_at` without an offset.
    """
    if occurred_at is None:
        occurred_at = datetime.now(UTC)
    elif occurred_at.utcoffset() is None:
        raise ValueError("occurred_at needs an offset from UTC")
    document: dict[str, Any] = {
        "eventId": new_event_id(),
        "type": type,
        "schemaVersion": SCHEMA_VERSION,
        "occurredAt": write_time(occurred_at),
        "materialId": material_id,
        "revision": revision,
    }
    if actor is not None:
        document["actor"] = actor
    document["data"] = msgspec.to_builtins(data, str_keys=True)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        body = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedEvent("a string or key holds a lone surrogate") from error
    return decode(body, types)


def read_attempt(headers: Mapping[Any, object] | None) -> int:
    """The number of attempts before this one: 0 when the header is absent.

    Raises InvalidAttempt for anything but an AMQP integer from 0 to 3.
    """
    if not isinstance(headers, Mapping) or "attempt" not in headers:
        return 0
    attempt = headers["attempt"]
    # Not isinstance: booleans and AMQP timestamps are ints to Python and not to the contract.
    if type(attempt) is not int:
        raise InvalidAttempt(
            f"the attempt header is a {type(attempt).__name__}, not an integer from 0 to 3"
        )
    if not 0 <= attempt <= MAX_ATTEMPT:
        raise InvalidAttempt(f"the attempt header is {attempt}, not an integer from 0 to 3")
    return attempt


@cache
def _envelope_of(data_type: Any) -> Any:
    return Envelope[data_type]


def _data_type(document: dict[str, Any], types: EventTypes) -> Any:
    """Type and version come first: an unknown version may have any other fields."""
    for name, expected, kind in (("type", str, "a string"), ("schemaVersion", int, "an integer")):
        if name not in document:
            raise MalformedEvent(f"the field `{name}` is missing")
        if type(document[name]) is not expected:
            raise MalformedEvent(f"`{name}` is not {kind}")
    event_type, version = document["type"], document["schemaVersion"]
    try:
        return types[event_type, version]
    except KeyError:
        shown = version if abs(version) < 10**9 else "out of range"
        raise UnsupportedEvent(
            f"no event type {quote(event_type)} with schemaVersion {shown} is known here"
        ) from None


def _sentence(error: msgspec.ValidationError) -> str:
    # msgspec quotes no value, and its path names known fields alone.
    says, _, path = str(error).rpartition(" - at `$")
    says = _PATTERN.sub("in the form that the contract gives it", says or str(error))
    return f"`{path.strip('.`') or 'event'}`: {says}"[:200]


_PATTERN = re.compile(r"matching regex '.*'", re.DOTALL)


def _refuse_null_data(data: dict[str, Any], data_type: type[Any]) -> None:
    """An optional field may be absent, not null; msgspec knows one kind of optional only."""
    if None in data.values():
        for name in data_type.__struct_encode_fields__:
            if data.get(name, UNSET) is None:
                raise MalformedEvent(f"`data.{name}`: Expected a value, got `null`")


def _without_identity(canonical: bytes, fields: Envelope[Any]) -> bytes:
    """The canonical document without eventId and occurredAt.

    Cut out of the text: both values are plain ASCII without escapes, `data` sorts before them,
    so the comma is there, and inside a string the quotation marks would be escaped.
    """
    event_id = f',"eventId":"{fields.event_id}"'.encode()
    occurred_at = f',"occurredAt":"{fields.occurred_at}"'.encode()
    first, second = canonical.find(event_id), canonical.find(occurred_at)
    if canonical.rfind(event_id) == first and canonical.rfind(occurred_at) == second:
        between = canonical[first + len(event_id) : second]
        return canonical[:first] + between + canonical[second + len(occurred_at) :]
    return without(canonical, "eventId", "occurredAt")
