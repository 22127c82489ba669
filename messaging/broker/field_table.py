"""Header tables as delivery sees them: what a copy carries on, and what a console shows.

The codec itself is `field_reader` and `field_writer`; `messaging.broker.wire` puts it in the
place of pika's.
"""

import math
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from messaging.broker.field_reader import decode_table, decode_value
from messaging.broker.field_values import (
    MAX_DEPTH,
    UNREADABLE,
    LongString,
    Table,
    Timestamp,
    Undecodable,
)
from messaging.broker.field_writer import encode_table, encode_value

__all__ = [
    "MAX_CARRIED_BYTES",
    "MAX_DEPTH",
    "MAX_VALUE_BYTES",
    "UNREADABLE",
    "LongString",
    "Table",
    "Timestamp",
    "Undecodable",
    "carried",
    "decode_table",
    "decode_value",
    "encode_table",
    "encode_value",
    "is_encodable",
    "printable",
]

# A copy's headers must fit one frame (131 072 bytes by default; `handover` looks) beside the
# properties and what we add, or the broker closes the connection over what it delivered itself.
MAX_CARRIED_BYTES = 96 * 1024
MAX_VALUE_BYTES = 16 * 1024

# Ours: written anew on every copy.
_OWN = frozenset({"attempt", "reason", "consumer"})
# CC and BCC would send the copy to further queues.
_ROUTING = frozenset({"CC", "BCC"})
# What RabbitMQ, its federation, shovels and its delay and deduplication plugins write or obey.
# Other x- headers are the publisher's own, such as x-request-id, and stay.
_BROKER_PREFIXES = (
    "x-death",
    "x-first-death-",
    "x-last-death-",
    "x-delivery-",
    "x-delivered-",
    "x-acquired-",
    "x-opt-",
    "x-stream-",
    "x-received-from",
    "x-shovel",
    "x-routed-",
    "x-exchange",
    "x-routing-key",
    "x-cc",
    "x-basic-",
    "x-delay",
    "x-deduplication-",
    "x-cache-ttl",
    "x-mqtt-",
    "x-amqp-",
)
_INTERCEPTED = frozenset({"timestamp_in_ms"})


def carried(headers: Mapping[Any, Any] | None, *, limit_bytes: int = MAX_CARRIED_BYTES) -> Table:
    """The headers that travel on with a retried or dead copy. Never raises.

    Left behind: the broker's headers, CC and BCC, our own `attempt`, `reason` and `consumer`,
    what AMQP cannot hold, and what would take the whole beyond limit_bytes.
    """
    kept: Table = {}
    room = limit_bytes
    for name, value in (headers or {}).items():
        if _is_left_behind(name):
            continue
        size = _size({name: value})
        if size is not None and size <= room:
            kept[name] = value
            room -= size
    return kept


def is_encodable(value: Any, *, limit_bytes: int = MAX_VALUE_BYTES) -> bool:
    """Whether a copy can hold this value in one header beside those carried. Never raises."""
    size = _size({"": value})
    return size is not None and size <= limit_bytes


def printable(value: Any) -> Any:
    """The headers (or one value of them) as JSON for people, storable in any database.

    Bytes become {"base64": …}, undecodable ones {"undecodable": …}, times ISO 8601, numbers
    that JSON lacks strings; U+0000 becomes U+2400. Never raises for a decoded table.
    """
    match value:
        case None | bool():
            return value
        case Timestamp():
            return _printable_time(value)
        case int():
            return int(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return _printable_text(value)
        case Undecodable(raw):
            return {"undecodable": b64encode(raw).decode("ascii")}
        case bytes():
            return {"base64": b64encode(value).decode("ascii")}
        case Mapping():
            return {_printable_text(name): printable(item) for name, item in value.items()}
        case list() | tuple():
            return [printable(item) for item in value]
        case Decimal():
            return str(value)
    return _printable_text(repr(value))


def _is_left_behind(name: object) -> bool:
    if not isinstance(name, str):
        return False
    return (
        name in _OWN
        or name in _ROUTING
        or name in _INTERCEPTED
        or name.lower().startswith(_BROKER_PREFIXES)
    )


def _size(table: Mapping[Any, Any]) -> int | None:
    try:
        return encode_table([], table) - 4  # the table's own length
    except ValueError:  # a lone surrogate too
        return None


def _printable_time(seconds: Timestamp) -> str | int:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return int(seconds)


def _printable_text(text: object) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    encodable = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return encodable.replace("\0", "\u2400")
