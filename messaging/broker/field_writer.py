"""AMQP field tables to bytes; stands in for pika's own writer, which knows no floats."""

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from messaging.broker.field_values import MAX_DEPTH, LongString, Timestamp


def encode_table(pieces: list[bytes], table: Mapping[Any, Any] | None) -> int:
    """Append the table's bytes to pieces and return their number.

    Raises ValueError for what AMQP cannot hold: a key over 255 bytes, an integer beyond 64
    bits, a value of another type than the ones above, more than MAX_DEPTH levels.
    """
    encoded = _write_table(table or {}, 1)
    pieces.append(encoded)
    return len(encoded)


def encode_value(pieces: list[bytes], value: Any) -> int:
    """Append the type letter and the value's bytes; otherwise as `encode_table`."""
    encoded = _write_value(value, 0)
    pieces.append(encoded)
    return len(encoded)


def _write_table(table: Mapping[Any, Any], depth: int) -> bytes:
    written: list[bytes] = []
    for key, value in table.items():
        match key:
            case str():
                name = key.encode("utf-8")
            case bytes():
                name = key
            case _:
                raise ValueError(f"a header's name is a string, not a {type(key).__name__}")
        if len(name) > 255:
            raise ValueError(f"a header's name has {len(name)} bytes; AMQP allows 255")
        written += (bytes((len(name),)), name, _write_value(value, depth))
    return _with_length(b"", b"".join(written))


def _write_value(value: Any, depth: int) -> bytes:
    if isinstance(value, Mapping | list | tuple):
        if depth >= MAX_DEPTH:
            raise ValueError(f"headers are nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, Mapping):
            return b"F" + _write_table(value, depth + 1)
        return _with_length(b"A", b"".join(_write_value(item, depth + 1) for item in value))
    return _write_scalar(value)


def _write_scalar(value: Any) -> bytes:
    match value:
        case None:
            return b"V"
        case bool():
            return b"t\1" if value else b"t\0"
        case Timestamp():
            return b"T" + _whole(value, 8, signed=False)
        case int():
            if -(2**31) <= value < 2**31:
                return b"I" + _whole(value, 4, signed=True)
            return b"l" + _whole(value, 8, signed=True)
        case float():
            return b"d" + struct.pack(">d", value)
        case str():
            return _with_length(b"S", value.encode("utf-8"))
        case LongString():
            return _with_length(b"S", value)
        case bytes():
            return _with_length(b"x", value)
        case Decimal():
            return _write_decimal(value)
    raise ValueError(f"AMQP has no type for a header of type {type(value).__name__}")


def _whole(value: int, size: int, *, signed: bool) -> bytes:
    try:
        return int(value).to_bytes(size, "big", signed=signed)
    except OverflowError as error:
        raise ValueError("an integer header is beyond 64 bits") from error


def _write_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a decimal header is not a number")  # noqa: TRY004 - as all the others
    # The length first: 1E+999999999 must not be written out.
    if -255 <= exponent <= 10 and len(digits) <= 10:
        unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
        if -(2**31) <= unscaled < 2**31:
            return b"D" + struct.pack(">Bi", max(-exponent, 0), unscaled)
    raise ValueError("a decimal header is beyond 32 bits, or has more than 255 decimals")


def _with_length(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">I", len(content)) + content
