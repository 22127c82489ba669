"""Header tables from bytes and back: nothing is lost, and no bytes end a connection."""

import json
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from messaging.broker.field_table import (
    MAX_CARRIED_BYTES,
    MAX_DEPTH,
    UNREADABLE,
    LongString,
    Timestamp,
    Undecodable,
    carried,
    decode_table,
    decode_value,
    encode_table,
    encode_value,
    is_encodable,
    printable,
)


def written(table: Mapping[Any, Any] | None) -> bytes:
    pieces: list[bytes] = []
    size = encode_table(pieces, table)
    encoded = b"".join(pieces)
    assert size == len(encoded)
    return encoded


def read(encoded: bytes) -> dict[Any, Any]:
    table, offset = decode_table(encoded, 0)
    assert offset == len(encoded)
    return table


def table_of(*members: bytes) -> bytes:
    content = b"".join(members)
    return struct.pack(">I", len(content)) + content


def member(key: bytes, value: bytes) -> bytes:
    return bytes([len(key)]) + key + value


def sized(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">I", len(content)) + content


ONE_OF_EACH = [
    (b"t\x00", False),
    (b"t\x01", True),
    (b"t\xff", True),
    (b"b\x80", -128),
    (b"B\xff", 255),
    (b"s\x80\x00", -(2**15)),
    (b"U\x80\x00", -(2**15)),
    (b"u\xff\xff", 2**16 - 1),
    (b"I\x80\x00\x00\x00", -(2**31)),
    (b"i\xff\xff\xff\xff", 2**32 - 1),
    (b"l\x80" + b"\x00" * 7, -(2**63)),
    (b"L\x7f" + b"\xff" * 7, 2**63 - 1),
    (b"f" + struct.pack(">f", 3.5), 3.5),
    (b"d" + struct.pack(">d", 2.9), 2.9),
    (b"D\x02" + struct.pack(">i", 150), Decimal("1.50")),
    (b"D\xff" + struct.pack(">i", -1), Decimal((1, (1,), -255))),
    (sized(b"S", "я".encode()), "я"),
    (sized(b"S", b""), ""),
    (sized(b"S", b"\xff\x00"), LongString(b"\xff\x00")),
    (sized(b"x", b"text"), b"text"),
    (b"T" + struct.pack(">Q", 1_700_000_000), Timestamp(1_700_000_000)),
    (b"T" + b"\xff" * 8, Timestamp(2**64 - 1)),
    (b"V", None),
    (sized(b"A", b"t\x01V" + sized(b"A", b"")), [True, None, []]),
    (b"F" + table_of(member(b"a", b"b\x01")), {"a": 1}),
]


@pytest.mark.parametrize(("encoded", "value"), ONE_OF_EACH, ids=lambda x: ascii(x)[:24])
def test_every_type_is_read(encoded: bytes, value: object) -> None:
    found, offset = decode_value(b"??" + encoded + b"next", 2)

    assert found == value
    assert type(found) is type(value)
    assert offset == 2 + len(encoded)


@pytest.mark.parametrize("value", [value for _, value in ONE_OF_EACH], ids=lambda x: ascii(x)[:24])
def test_every_value_survives_writing_and_reading(value: object) -> None:
    table = read(written({"k": value}))

    assert table == {"k": value}
    assert type(table["k"]) is type(value)
    assert str(table["k"]) == str(value)  # a decimal keeps its noughts


@pytest.mark.parametrize(
    "encoded", [raw for raw, _ in ONE_OF_EACH if raw[:1] in b"dDSxTVI" or raw == b"t\x01"]
)
def test_what_is_read_is_written_back_byte_for_byte(encoded: bytes) -> None:
    pieces: list[bytes] = []

    size = encode_value(pieces, decode_value(encoded, 0)[0])

    assert b"".join(pieces) == encoded
    assert size == len(encoded)


def test_a_float_is_not_cut_to_an_integer_and_not_finite_ones_pass() -> None:
    table = read(written({"a": 2.9, "b": float("inf"), "c": float("nan")}))

    assert table["a"] == 2.9
    assert table["b"] == float("inf")
    assert table["c"] != table["c"]


def test_the_last_of_equal_keys_wins() -> None:
    encoded = table_of(member(b"attempt", b"b\x00"), member(b"attempt", b"b\x63"))

    assert read(encoded) == {"attempt": 99}


def test_a_key_that_is_not_utf_8_stays_bytes() -> None:
    encoded = table_of(member(b"\xff", b"V"), member(b"", b"t\x01"))

    table = read(encoded)

    assert table == {b"\xff": None, "": True}
    assert written(table) == encoded


def test_no_table_is_an_empty_table() -> None:
    assert written(None) == written({}) == b"\0\0\0\0"


def test_an_unknown_type_hides_the_rest_of_its_own_table_alone() -> None:
    inner = b"F" + table_of(member(b"a", b"b\x01"), member(b"b", b"Zxyz"), member(b"c", b"V"))
    encoded = table_of(member(b"one", inner), member(b"two", b"b\x02"))

    table = read(encoded)

    assert table == {"one": {"a": 1, "b": Undecodable(b"Zxyz\x01cV")}, "two": 2}


def test_an_unknown_type_hides_the_rest_of_its_own_array_alone() -> None:
    encoded = table_of(member(b"one", sized(b"A", b"V?..")), member(b"two", b"V"))

    assert read(encoded) == {"one": [None, Undecodable(b"?..")], "two": None}


@pytest.mark.parametrize(
    "value", [b"I\0\0", b"S\0\0\0\x09short", b"S\0\0", b"F\xff\xff\xff\xff", b"A\0\0\0\x02V", b"T"]
)
def test_a_value_that_runs_out_of_its_table_is_kept_as_bytes(value: bytes) -> None:
    encoded = table_of(member(b"a", b"V"), member(b"b", value))

    table, offset = decode_table(encoded + b"I\0\0\0\0\0\0\0\0\0\0", 0)

    assert table == {"a": None, "b": Undecodable(value)}
    assert offset == len(encoded)


@pytest.mark.parametrize("rest", [b"\x05ab", b"\xff", b"\x02ab", b"\x00"])
def test_a_key_that_runs_out_of_its_table_is_kept_as_bytes(rest: bytes) -> None:
    encoded = table_of(member(b"a", b"V"), rest)

    table, offset = decode_table(encoded + b"more of the frame", 0)

    assert table == {"a": None, UNREADABLE: Undecodable(rest)}
    assert offset == len(encoded)


@pytest.mark.parametrize("encoded", [b"", b"\0", b"\0\0\0"])
def test_a_table_that_is_not_there_is_empty(encoded: bytes) -> None:
    assert decode_table(encoded, 0) == ({}, len(encoded))


def test_a_table_longer_than_the_frame_is_read_to_its_end() -> None:
    encoded = struct.pack(">I", 1000) + member(b"a", b"V") + member(b"b", b"t")

    assert decode_table(encoded, 0) == ({"a": None, "b": Undecodable(b"t")}, len(encoded))


def test_a_value_beyond_the_end_is_undecodable() -> None:
    assert decode_value(b"", 0) == (Undecodable(b""), 0)


@pytest.fixture
def little_stack() -> Iterator[None]:
    """Deep recursion would fail here as it does with pika's own reader."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(limit)


def deep(levels: int, kind: bytes) -> bytes:
    content = b""
    for _ in range(levels):
        content = sized(kind, content) if kind == b"A" else member(b"k", sized(b"F", content))
    return table_of(content if kind == b"F" else member(b"k", content))


@pytest.mark.parametrize("kind", [b"A", b"F"])
@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1, 990, 20_000])
def test_what_is_nested_too_deep_is_kept_as_bytes_and_its_neighbours_are_read(
    kind: bytes, levels: int, little_stack: None
) -> None:
    nested = deep(levels, kind)[4:]
    encoded = table_of(nested, member(b"attempt", b"b\x02"))

    table = read(encoded)

    assert table["attempt"] == 2
    value, depth = table["k"], 1
    while value and not isinstance(value, Undecodable):
        value, depth = (value["k"] if kind == b"F" else value[0]), depth + 1
    assert isinstance(value, Undecodable)
    assert depth == MAX_DEPTH
    assert not is_encodable(table["k"])


def test_the_deepest_table_that_is_read_can_be_written(little_stack: None) -> None:
    for kind in (b"A", b"F"):
        encoded = deep(MAX_DEPTH - 1, kind)

        assert written(read(encoded)) == encoded


@settings(max_examples=500)
@given(st.binary(max_size=120), st.integers(0, 20))
def test_any_bytes_are_read(encoded: bytes, offset: int) -> None:
    _, table_end = decode_table(encoded, min(offset, len(encoded)))
    _, value_end = decode_value(encoded, min(offset, len(encoded)))

    assert min(offset, len(encoded)) <= table_end <= len(encoded)
    assert min(offset, len(encoded)) <= value_end <= len(encoded)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.integers(0, 2**64 - 1).map(Timestamp)
    | st.builds(
        lambda unscaled, scale: Decimal(unscaled).scaleb(-scale),
        st.integers(-(2**31), 2**31 - 1),
        st.integers(0, 255),
    ),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4)
    ),
    max_leaves=15,
)
tables = st.dictionaries(st.text(max_size=60), values, max_size=6)


@given(tables)
def test_any_table_survives_writing_and_reading(table: dict[str, Any]) -> None:
    again = read(written(table))

    assert again == table
    assert list(again) == list(table)
    assert repr(again) == repr(table)


@given(tables, st.data())
def test_spoilt_tables_are_read_and_what_can_travel_is_written(
    table: dict[str, Any], data: st.DataObject
) -> None:
    encoded = bytearray(written(table))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(encoded) - 1))
        encoded[at] = data.draw(st.integers(0, 255) | st.sampled_from(b"AFSxtTD?"))

    spoilt, _ = decode_table(bytes(encoded), 0)

    kept = carried(spoilt)
    assert kept.keys() <= spoilt.keys()
    written(kept)
    json.dumps(printable(spoilt), allow_nan=False).encode("utf-8")


@pytest.mark.parametrize(
    "table",
    [
        {"k" * 256: 1},
        {"я" * 128: 1},
        {b"k" * 256: 1},
        {5: 1},
        {None: 1},
        {"\ud800": 1},
        {"k": 2**63},
        {"k": -(2**63) - 1},
        {"k": 10**30},
        {"k": Timestamp(-1)},
        {"k": Timestamp(2**64)},
        {"k": Decimal("NaN")},
        {"k": Decimal("Infinity")},
        {"k": Decimal(2**31)},
        {"k": Decimal("1E+999999999")},
        {"k": Decimal("1E-256")},
        {"k": Decimal("1." + "1" * 30)},
        {"k": SimpleNamespace()},
        {"k": {1, 2}},
        {"k": datetime(2026, 1, 1, tzinfo=UTC)},
        {"k": 1 + 2j},
        {"k": "\ud800"},
        {"k": Undecodable(b"?")},
        {"k": [{"deep": Undecodable(b"?")}]},
    ],
    ids=lambda table: ascii(table)[:30],
)
def test_what_amqp_cannot_hold_is_a_value_error(table: dict[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        written(table)
    assert carried(table | {"good": 1}) == {"good": 1}
    if "k" in table:
        assert not is_encodable(table["k"])


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"k": inner}])
def test_what_would_be_read_as_too_deep_is_not_written(wrap: Callable[[Any], Any]) -> None:
    value: Any = wrap(1)
    for _ in range(MAX_DEPTH - 2):
        value = wrap(value)

    assert read(written({"k": value})) == {"k": value}
    with pytest.raises(ValueError, match="deeper"):
        written({"k": wrap(value)})


@pytest.mark.parametrize("value", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)])
def test_integers_at_the_edges_survive(value: int) -> None:
    assert read(written({"k": value})) == {"k": value}


def test_a_table_that_holds_itself_is_a_value_error(little_stack: None) -> None:
    endless: dict[str, Any] = {}
    endless["k"] = [endless]

    with pytest.raises(ValueError, match="deeper"):
        written(endless)
    assert carried(endless) == {}


def test_whole_decimals_with_an_exponent_are_written_out() -> None:
    assert read(written({"k": Decimal("1E+3")})) == {"k": Decimal(1000)}


class TestCarried:
    """What travels on with a retried or dead copy."""

    def test_the_publishers_own_headers_travel_on(self) -> None:
        headers = {
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "score": 3.5,
            "x-request-id": "5",
            "X-Tenant": "a",
            "cc": "a copy to nobody",
            "table": {"x-death": [1]},
            b"\xff": b"\x00",
            "nothing": None,
        }

        assert carried(headers) == headers
        assert list(carried(headers)) == list(headers)

    @pytest.mark.parametrize(
        "name",
        [
            *("x-death", "x-first-death-queue", "x-first-death-reason", "x-last-death-exchange"),
            *("x-delivery-count", "x-delivered-count", "x-acquired-count", "x-opt-delivery-count"),
            *("x-stream-offset", "x-received-from", "x-shovelled", "x-delay", "X-Death"),
            *("x-deduplication-header", "CC", "BCC", "attempt", "reason", "consumer"),
        ],
    )
    def test_what_the_broker_writes_or_obeys_and_our_own_is_left(self, name: str) -> None:
        assert carried({name: ["x"], "kept": 1}) == {"kept": 1}

    @pytest.mark.parametrize("value", [[], "x", [1], [{}], [{"count": "9"}], None])
    def test_a_forged_death_record_of_any_shape_is_left(self, value: object) -> None:
        assert carried({"x-death": value}) == {}

    @pytest.mark.parametrize("headers", [None, {}])
    def test_without_headers_nothing_travels(self, headers: Any) -> None:
        assert carried(headers) == {}

    def test_a_copy_stays_within_one_frame(self) -> None:
        headers = {"small": 1, "big": "x" * MAX_CARRIED_BYTES, "a": "x" * 60_000, "b": "x" * 60_000}

        kept = carried(headers | {"last": True})

        assert list(kept) == ["small", "a", "last"]
        assert len(written(kept)) <= MAX_CARRIED_BYTES + 4

    def test_many_small_headers_stay_within_the_limit_too(self) -> None:
        kept = carried({f"h{number}": number for number in range(1000)}, limit_bytes=100)

        assert 0 < len(kept) < 1000
        assert len(written(kept)) <= 100 + 4

    def test_the_original_headers_are_not_changed(self) -> None:
        headers = {"x-death": [1], "a": 1}

        carried(headers)["b"] = 2

        assert headers == {"x-death": [1], "a": 1}


def test_a_value_too_long_for_a_copy_is_not_encodable() -> None:
    assert is_encodable("x" * 10_000)
    assert not is_encodable("x" * 100_000)


def test_headers_are_printable_as_json_that_every_database_stores() -> None:
    headers = {
        "time": Timestamp(1_700_000_000),
        "far": Timestamp(2**64 - 1),
        "bytes": b"\xff\x00",
        "string": LongString(b"\xff"),
        "decimal": Decimal("1.50"),
        "nan": float("nan"),
        "inf": [float("-inf")],
        "nul": "a\0b",
        "nu\0l": {b"\xff": None},
        "odd": Undecodable(b"?"),
        "plain": [1, 2.5, True, "я", {}],
    }

    shown = printable(headers)

    assert shown == {
        "time": "2023-11-14T22:13:20Z",
        "far": 2**64 - 1,
        "bytes": {"base64": "/wA="},
        "string": {"base64": "/w=="},
        "decimal": "1.50",
        "nan": "nan",
        "inf": ["-inf"],
        "nul": "a␀b",
        "nu␀l": {"\\xff": None},
        "odd": {"undecodable": "Pw=="},
        "plain": [1, 2.5, True, "я", {}],
    }
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
