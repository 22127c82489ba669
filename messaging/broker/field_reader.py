"""AMQP field tables (message headers, arguments) from bytes; stands in for pika's own reader.

pika's cuts floats to integers, and ends the connection over a deeply nested table, an unknown
type or a time beyond `datetime`. Here reading never fails: what cannot be read stays as
`Undecodable` bytes beside what can.
"""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from messaging.broker.field_values import (
    MAX_DEPTH,
    UNREADABLE,
    LongString,
    Table,
    Timestamp,
    Undecodable,
)


def decode_table(encoded: bytes, offset: int) -> tuple[Table, int]:
    """The table that starts at offset, and the offset behind it. Never raises.

    Of two equal keys the last wins. A length beyond the end of `encoded` means: to its end.
    """
    return _read_table(encoded, offset, len(encoded), 1)


def decode_value(encoded: bytes, offset: int) -> tuple[Any, int]:
    """The value whose type letter is at offset, and the offset behind it. Never raises."""
    return _read_value(encoded, offset, len(encoded), 0)


def _read_table(data: bytes, offset: int, limit: int, depth: int) -> tuple[Table, int]:
    start, end = _span(data, offset, limit)
    table: Table = {}
    while start < end:
        key_end = start + 1 + data[start]
        if key_end >= end:  # a value needs one byte at least
            table[UNREADABLE] = Undecodable(data[start:end])
            break
        key = _text(data[start + 1 : key_end])
        table[key], start = _read_value(data, key_end, end, depth)
    return table, end


def _read_array(data: bytes, offset: int, limit: int, depth: int) -> tuple[list[Any], int]:
    start, end = _span(data, offset, limit)
    values = []
    while start < end:
        value, start = _read_value(data, start, end, depth)
        values.append(value)
    return values, end


def _read_value(data: bytes, offset: int, limit: int, depth: int) -> tuple[Any, int]:
    """`depth` is the level of the table or array that holds the value."""
    kind = data[offset : offset + 1]
    start = offset + 1
    if fixed := _FIXED.get(kind):
        layout, convert = fixed
        end = start + layout.size
        if end <= limit:
            return convert(*layout.unpack_from(data, start)), end
    elif kind in _SIZED and start + 4 <= limit:
        end = start + 4 + _LENGTH.unpack_from(data, start)[0]
        if end <= limit:
            if kind == b"S":
                text = _text(data[start + 4 : end])
                return (LongString(text) if isinstance(text, bytes) else text), end
            if kind == b"x":
                return bytes(data[start + 4 : end]), end
            if depth >= MAX_DEPTH:
                return Undecodable(bytes(data[offset:end])), end
            read = _read_table if kind == b"F" else _read_array
            return read(data, start, end, depth + 1)
    elif kind == b"V":
        return None, start
    # Where the next value begins is unknown: the rest of what holds this one goes with it.
    return Undecodable(bytes(data[offset:limit])), limit


def _span(data: bytes, offset: int, limit: int) -> tuple[int, int]:
    """Where the content behind a length begins and ends."""
    start = offset + 4
    if start > limit:
        return limit, limit
    return start, min(limit, start + _LENGTH.unpack_from(data, offset)[0])


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return bytes(raw)


def _decimal(scale: int, unscaled: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


_LENGTH = struct.Struct(">I")
_SIZED = frozenset((b"S", b"x", b"A", b"F"))
# L and l are both signed (as RabbitMQ reads l); U is what some clients write for s.
_FIXED: dict[bytes, tuple[struct.Struct, Callable[..., Any]]] = {
    b"t": (struct.Struct(">B"), bool),
    b"b": (struct.Struct(">b"), int),
    b"B": (struct.Struct(">B"), int),
    b"s": (struct.Struct(">h"), int),
    b"U": (struct.Struct(">h"), int),
    b"u": (struct.Struct(">H"), int),
    b"I": (struct.Struct(">i"), int),
    b"i": (struct.Struct(">I"), int),
    b"l": (struct.Struct(">q"), int),
    b"L": (struct.Struct(">q"), int),
    b"f": (struct.Struct(">f"), float),
    b"d": (struct.Struct(">d"), float),
    b"D": (struct.Struct(">Bi"), _decimal),
    b"T": (struct.Struct(">Q"), Timestamp),
}
