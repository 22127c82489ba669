"""Bodies and headers that can never work, by the reason that a dead copy must give for them."""

import json
from typing import Any

from messaging.broker.field_table import LongString, Timestamp
from messaging.envelope import MAX_BODY_BYTES
from tests.messaging.event_bodies import (
    ABSENT,
    as_bytes,
    published,
    replaced,
    spliced,
    with_data,
    withdrawn,
)

GOOD = as_bytes(published())
LONG_ID = "0190a6f0-0000-7000-8000-" + "0" * 12


def _nested(text: str, depth: int) -> str:
    return text * depth + "1" + ("]" if text == "[" else "}") * depth


MALFORMED: dict[str, bytes] = {
    "not UTF-8": b'{"a":"\xff"}',
    "not UTF-8 in a good event": GOOD.replace(b"A title", b"A \xff title"),
    "Latin-1": GOOD.replace(b"A title", "Café".encode("latin-1")),
    "UTF-16": GOOD.decode().encode("utf-16"),
    "UTF-16 without a mark": GOOD.decode().encode("utf-16-le"),
    "byte-order mark": b"\xef\xbb\xbf" + GOOD,
    "raw surrogate": GOOD.replace(b"A title", b"\xed\xa0\xbd"),
    "surrogate in the title": as_bytes(with_data(title="\ud83d")),
    "surrogate in an id": as_bytes(published(materialId="a\ud83d")),
    "surrogate in an unknown field": as_bytes(published(extra={"deep": ["\udc00"]})),
    "surrogate in a key": as_bytes(published(**{"\ud83d": 1})),
    "NUL in the title": as_bytes(with_data(title="a\0b")),
    "NUL in a key": as_bytes(published(**{"a\0b": 1})),
    "NUL in the eventId": as_bytes(published(eventId=LONG_ID[:-1] + "\0")),
    "NUL in an unknown field": as_bytes(published(extra=["\0"])),
    "NaN in a known field": replaced("revision", "NaN"),
    "NaN in an unknown field": spliced("x", "NaN"),
    "Infinity": spliced("x", "Infinity"),
    "-Infinity in a list": spliced("x", "[[-Infinity]]"),
    "beyond a double": spliced("x", "1e999"),
    "the same key twice": spliced("eventId", f'"{LONG_ID}"'),
    "the same revision twice": spliced("revision", "3"),
    "the same key twice, deep inside": spliced("x", '{"a": {"b": 1, "b": 1}}'),
    "an integer of 4301 digits": replaced("revision", "9" * 4301),
    "an integer of 4300 digits": replaced("revision", "9" * 4300),
    "an integer of 20 digits": replaced("revision", "9" * 20),
    "a long integer in an unknown field": spliced("x", "9" * 5000),
    "lists nested 1000 deep": _nested("[", 1000).encode(),
    "lists nested 100000 deep": _nested("[", 100_000).encode(),
    "objects nested 1000 deep": _nested('{"a":', 1000).encode(),
    "nesting in an unknown field": spliced("x", _nested("[", 33)),
    "unclosed nesting": b"[" * 100_000,
    "empty": b"",
    "white space": b"   \n",
    "null": b"null",
    "a list": b"[]",
    "a string": b'"x"',
    "a number": b"1",
    "true": b"true",
    "an event in a list": b"[" + GOOD + b"]",
    "two documents": GOOD + GOOD,
    "a NUL behind it": GOOD + b"\0",
    "cut short": GOOD[:-5],
    "Python's repr": repr(published()).encode(),
    "not JSON": b"hello",
    "10 MB": as_bytes(with_data(body="x" * 10_000_000)),
    "one byte too long": as_bytes(
        published(x="y" * (MAX_BODY_BYTES - len(spliced("x", '""')) + 1))
    ),
    **{
        f"revision {literal}": replaced("revision", literal)
        for literal in ("true", "1.0", "1.7", '"5"', "-1", "0", "null", "[1]", "1e0", str(2**63))
    },
    **{
        f"eventId {literal[:12]}": replaced("eventId", literal)
        for literal in ("5", "null", "[]", "{}", '""', '"x"')
    },
    **{
        f"spelling {spelling[:10]}… of an id": as_bytes(published(eventId=spelling))
        for spelling in (
            LONG_ID.upper().replace("0190A6F0", "0190A6F0"),
            "{" + LONG_ID + "}",
            LONG_ID.replace("-", ""),
            "urn:uuid:" + LONG_ID,
            LONG_ID + "\n",
            LONG_ID + "0" * 219,
            "я" * 128,
        )
    },
    **{
        f"without {name}": as_bytes(published(**{name: ABSENT}))
        for name in (
            "eventId",
            "type",
            "schemaVersion",
            "occurredAt",
            "materialId",
            "revision",
            "data",
        )
    },
    **{
        f"data without {name}": as_bytes(with_data(**{name: ABSENT}))
        for name in ("title", "summary", "body")
    },
    "a withdrawal without reason": as_bytes(withdrawn(data={})),
    "null type": as_bytes(published(type=None)),
    "schemaVersion as text": as_bytes(published(schemaVersion="1")),
    "schemaVersion 1.0": replaced("schemaVersion", "1.0"),
    "schemaVersion true": replaced("schemaVersion", "true"),
    "null actor": as_bytes(published(actor=None)),
    "empty actor": as_bytes(published(actor="")),
    **{
        f"materialId of {len(text)}: {text[:12]!r}": as_bytes(published(materialId=text))
        for text in ("", "Article-107", "a b", "-a", "é", "a" * 65, "a" * 256, "a" * 10_000, "../x")
    },
    "blank title": as_bytes(with_data(title=" \t\u3000")),
    "title of 201": as_bytes(with_data(title="x" * 201)),
    "summary of 501": as_bytes(with_data(summary="x" * 501)),
    "body of 200001": as_bytes(with_data(body="x" * 200_001)),
    "21 tags": as_bytes(with_data(tags=["x"] * 21)),
    "an empty tag": as_bytes(with_data(tags=[""])),
    "tags as text": as_bytes(with_data(tags="x")),
    "not a language": as_bytes(with_data(language="not a language")),
    **{
        f"occurredAt {value!r}": as_bytes(published(occurredAt=value))
        for value in (
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00+0000",
            "2024-01-01",
            "20240101",
            "2024-W01-1",
            "2024-02-30T00:00:00Z",
            "2024-01-01T25:00:00Z",
            1704067200,
            1704067200.5,
            None,
            "",
            "now",
        )
    },
}

UNSUPPORTED: dict[str, bytes] = {
    "schemaVersion 2": as_bytes(published(schemaVersion=2)),
    "schemaVersion 0": as_bytes(published(schemaVersion=0)),
    "schemaVersion 2**80": as_bytes(published(schemaVersion=2**80)),
    "material.exploded": as_bytes(published(type="material.exploded")),
    "an endless type": as_bytes(published(type="x" * 5000)),
    "a type with control characters": as_bytes(published(type="\x1b[31m\r\nmaterial")),
    "version 2 with other fields": json.dumps(
        {"type": "material.published", "schemaVersion": 2, "id": 7}
    ).encode(),
}

BODIES: dict[str, tuple[bytes, str]] = {
    **{name: (body, "MalformedEvent") for name, body in MALFORMED.items()},
    **{name: (body, "UnsupportedEvent") for name, body in UNSUPPORTED.items()},
}

ATTEMPTS: dict[str, Any] = {
    "text 2": "2",
    "text x": "x",
    "empty text": "",
    "-1": -1,
    "4": 4,
    "10**18": 10**18,
    "true": True,
    "false": False,
    "void": None,
    "list": [1],
    "empty list": [],
    "table": {},
    "2.9": 2.9,
    "2.0": 2.0,
    "bytes": b"\x01",
    "long string": LongString(b"\xff"),
    "timestamp": Timestamp(1),
}
