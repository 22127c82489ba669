"""The wire format: bytes to a frozen value and back, the same rules for sender and receiver.

`decode` is the only door for bytes from a queue, `new_event` the only maker of new ones.
Nothing here knows what a material's data is: the types come from `messaging.registry`.
"""

import json
import os
import re
import threading
import time
import uuid
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from messaging.errors import InvalidAttempt, MalformedEvent, UnsupportedEvent
from messaging.json_strict import MAX_BODY_BYTES, parse, quote, without

__all__ = [
    "MAX_ATTEMPT",
    "MAX_BODY_BYTES",
    "Event",
    "decode",
    "encode",
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
    body: bytes  # exactly as received
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
    occurred_at = _read_time(fields.occurred_at)
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


def encode(event: Event) -> bytes:
    """The AMQP body: byte for byte what was received or built."""
    return event.body


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
        "occurredAt": _write_time(occurred_at),
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


_last_id = 0
_last_id_lock = threading.Lock()


def new_event_id() -> str:
    """A UUID version 7 (RFC 9562), greater than every earlier one of this process."""
    global _last_id
    milliseconds = time.time_ns() // 1_000_000
    fresh = (milliseconds << 74) | int.from_bytes(os.urandom(10)) >> 6
    with _last_id_lock:
        if fresh >> 74 <= _last_id >> 74:
            fresh = _last_id + 1 + (fresh & 0xFFFF_FFFF)
        _last_id = fresh
    value = (fresh >> 74) << 80 | 7 << 76 | (fresh >> 62 & 0xFFF) << 64
    value |= 2 << 62 | (fresh & (1 << 62) - 1)
    return str(uuid.UUID(int=value))


# Python's `$` also matches before a final line feed, JSON Schema's does not. This is one for both.
_END = r"$(?!\n)"
EventId = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END)
]
MaterialId = Annotated[
    str, Meta(pattern="^[a-z0-9][a-z0-9._-]*" + _END, min_length=1, max_length=64)
]
Revision = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Actor = Annotated[str, Meta(min_length=1, max_length=150)]

Data = TypeVar("Data")


class Envelope(Struct, Generic[Data], rename="camel"):
    """The fields of every event, as they stand on the wire."""

    event_id: EventId
    type: str
    schema_version: int
    occurred_at: str
    material_id: MaterialId
    revision: Revision
    data: Data
    actor: Actor | UnsetType = UNSET


@cache
def _envelope_of(data_type: Hashable) -> Any:
    return Envelope[data_type]  # type: ignore[valid-type]


def _data_type(document: dict[str, Any], types: EventTypes) -> type[Any]:
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
    # The path is in the text; it names known fields alone, and no value is quoted.
    return _PATTERN.sub("in another form", str(error))[:200]


_PATTERN = re.compile(r"matching regex '.*'", re.DOTALL)


def _refuse_null_data(data: dict[str, Any], data_type: type[Any]) -> None:
    """An optional field may be absent, not null; msgspec knows one kind of optional only."""
    if None in data.values():
        for name in data_type.__struct_encode_fields__:
            if data.get(name, UNSET) is None:
                raise MalformedEvent(f"`{name}` is null - at `$.data.{name}`")


_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


def _read_time(text: str) -> datetime:
    """RFC 3339 to UTC, digits beyond the microsecond cut off, a leap second as the next second."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise MalformedEvent(f"`occurredAt` {quote(text)} is not an RFC 3339 time with an offset")
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    leap = second == "60"
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            59 if leap else int(second),
            int(fraction[:6].ljust(6, "0")) if fraction else 0,
            UTC,
        )
        if sign:
            if int(hours) > 23 or int(minutes) > 59:
                raise ValueError("offset out of range")
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            moment = moment - offset if sign == "+" else moment + offset
        if leap:
            if (moment.hour, moment.minute) != (23, 59):
                raise ValueError("a leap second comes at the end of a day in UTC")
            moment += timedelta(seconds=1)
    except (ValueError, OverflowError) as error:
        raise MalformedEvent(f"`occurredAt` {quote(text)}: no such time") from error
    return moment


def _write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _without_identity(canonical: bytes, fields: Envelope[Any]) -> bytes:
    """The canonical document without eventId and occurredAt.

    Cut out of the text: both values are plain ASCII without escapes, `data` sorts before them,
    so the comma is there, and inside a string the quotation marks would be escaped.
    """
    event_id = f',"eventId":"{fields.event_id}"'.encode()
    occurred_at = f',"occurredAt":"{fields.occurred_at}"'.encode()
    if canonical.count(event_id) == canonical.count(occurred_at) == 1:
        return canonical.replace(event_id, b"").replace(occurred_at, b"")
    return without(canonical, "eventId", "occurredAt")
