"""A delivery from a dead queue, read so that any database can keep it: nothing can be refused.

Pure: what a copy says of itself. What the database knows of it besides is `intake`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from messaging import registry
from messaging.broker import field_table
from messaging.broker.wire import Delivery
from messaging.envelope import decode, read_attempt
from messaging.errors import DeliveryError, InvalidAttempt
from messaging.event.facts import Facts, read_facts
from messaging.running.error_texts import sanitised

UNKNOWN_REASON = "unknown"
MAX_BODY_TEXT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """One copy out of a dead queue."""

    consumer: str
    body: bytes
    sha256: bytes
    facts: Facts
    reason: str
    error: str  # why it cannot be handled, as far as the copy itself tells
    attempt: int | None
    header_table: bytes
    headers: dict[str, Any]
    properties: dict[str, Any]
    died_at: datetime
    died_in_second: int | None  # as the copy says, by the worker's clock
    redelivered: bool
    mark: bytes  # equal for one copy that comes twice

    @property
    def body_text(self) -> str:
        """The beginning of the body for a search: no database refuses it."""
        return self.body[:MAX_BODY_TEXT_BYTES].decode("utf-8", "replace").replace("\0", "\u2400")


def read_arrival(delivery: Delivery, *, consumer: str, now: datetime) -> Arrival:
    """What the copy is. Never raises for what a message may hold."""
    properties = field_table.printable(delivery.properties)
    second = _second(delivery.properties.get("timestamp"), now=now)
    return Arrival(
        consumer=consumer,
        body=delivery.body,
        sha256=sha256(delivery.body).digest(),
        facts=read_facts(delivery.body),
        reason=_reason(delivery.headers),
        error=_error(delivery),
        attempt=_attempt(delivery.headers),
        header_table=_encoded(delivery.headers),
        headers=field_table.printable(delivery.headers),
        properties=properties,
        died_at=now if second is None else datetime.fromtimestamp(second, UTC),
        died_in_second=second,
        redelivered=delivery.redelivered,
        mark=_mark(delivery.headers, properties),
    )


def _encoded(headers: Mapping[Any, Any]) -> bytes:
    """All headers as an AMQP table; one that AMQP's writer refuses stays in the JSON alone."""
    pieces: list[bytes] = []
    try:
        field_table.encode_table(pieces, headers)
    except ValueError:
        writable = {name: headers[name] for name in headers if _is_writable(name, headers[name])}
        pieces.clear()
        field_table.encode_table(pieces, writable)
    return b"".join(pieces)


def _is_writable(name: object, value: object) -> bool:
    try:
        field_table.encode_table([], {name: value})
    except ValueError:
        return False
    return True


def _mark(headers: Mapping[Any, Any], properties: Mapping[str, Any]) -> bytes:
    """Without the broker's own headers: it counts redeliveries there."""
    own = {name: headers[name] for name in ("attempt", "reason", "consumer") if name in headers}
    written = json.dumps(properties, sort_keys=True).encode()
    table = _encoded(field_table.carried(headers) | own)
    return sha256(len(written).to_bytes(4, "big") + written + table).digest()


def _reason(headers: Mapping[Any, Any]) -> str:
    reason = headers.get("reason")
    if not isinstance(reason, str):
        return UNKNOWN_REASON
    return " ".join(str(field_table.printable(reason)).split())[:100].strip() or UNKNOWN_REASON


def _error(delivery: Delivery) -> str:
    """What the consumer said, worked out again: of the header where it was the header's fault."""
    try:
        if _reason(delivery.headers) == InvalidAttempt.__name__:
            read_attempt(delivery.headers)
        decode(delivery.body, registry.event_types())
        read_attempt(delivery.headers)
    except DeliveryError as error:
        return sanitised(error)
    return ""


def _attempt(headers: Mapping[Any, Any]) -> int | None:
    try:
        return read_attempt(headers) if "attempt" in headers else None
    except InvalidAttempt:
        return None


def _second(timestamp: object, *, now: datetime) -> int | None:
    """The copy's `timestamp`, unless it cannot be the moment of a death."""
    if not isinstance(timestamp, int) or isinstance(timestamp, bool):
        return None
    latest = int((now + timedelta(days=1)).timestamp())
    return int(timestamp) if _EARLIEST <= timestamp <= latest else None


_EARLIEST = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
