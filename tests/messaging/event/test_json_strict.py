"""Which bytes are one JSON object that everybody reads alike."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from messaging.errors import MalformedEvent
from messaging.event.json_strict import MAX_BODY_BYTES, Parsed, _read_any, _read_usual, parse, quote


def refusal(body: bytes) -> str:
    with pytest.raises(MalformedEvent) as caught:
        parse(body)
    return str(caught.value)


@pytest.fixture
def roomy_stack() -> Iterator[None]:
    """As in a process that has raised its limits for its own reasons."""
    limits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.setrecursionlimit(1_000_000)
    sys.set_int_max_str_digits(0)
    yield
    sys.setrecursionlimit(limits[0])
    sys.set_int_max_str_digits(limits[1])


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"\xff"}',
        b'{"a\xff":1}',
        b'{"a":"\xed\xa0\xbd"}',  # a surrogate in UTF-8's clothes
        b'{"a":"\xc0\x80"}',  # U+0000 in two bytes
        b'{"a":"\xe2\x82"}',
        '{"a":"é"}'.encode("latin-1"),
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-32-be"),
        b"\xff",
        b"\x80" * 100,
    ],
)
def test_only_utf_8_is_accepted(body: bytes) -> None:
    refusal(body)


@pytest.mark.parametrize("body", [b"\xef\xbb\xbf{}", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_refused_and_named(body: bytes) -> None:
    assert "byte-order mark" in refusal(body)


def test_a_byte_order_mark_after_white_space_is_refused() -> None:
    refusal(b" \xef\xbb\xbf{}")


def test_a_byte_order_mark_inside_a_string_is_a_character() -> None:
    assert parse('{"a":"\ufeff"}'.encode()).document == {"a": "\ufeff"}


@pytest.mark.parametrize("after", [b" ", b"\n", b"\r\n\t  "])
def test_white_space_may_surround_the_object(after: bytes) -> None:
    assert parse(after + b'{"a":1}' + after).document == {"a": 1}


@pytest.mark.parametrize(
    "after", [b"{}", b"\0", b"x", b",", b"}", b"\x0c", b"\xc2\xa0", b"//", b"\x1a", b"null"]
)
def test_nothing_else_may_follow_the_object(after: bytes) -> None:
    refusal(b'{"a":1}' + after)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"x":{"a":1,"b":2,"a":3}}',
        b'{"x":[{"a":[{"":1,"":2}]}]}',
    ],
)
def test_a_key_stands_once_in_its_object(body: bytes) -> None:
    assert "twice" in refusal(body)


def test_one_key_may_stand_in_several_objects() -> None:
    assert parse(b'{"a":{"a":1},"b":[{"a":1},{"a":2}]}').document["b"] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("place", ['{"a":%s}', '{"a":[1,%s]}', '{"a":{"b":%s}}'])
def test_what_is_no_number_is_refused(place: str, token: str) -> None:
    assert token in refusal((place % token).encode())


@pytest.mark.parametrize(
    "number",
    [
        *("1e309", "-1e309", "1.8e308", "1e999999999", "9" * 309 + ".0"),
        *(
            "1" + "0" * 309,
            "-1" + "0" * 309,
            "9" * 309,
            "9" * 4300,
            "9" * 4301,
            "-" + "9" * 200_000,
        ),
    ],
    ids=lambda text: f"{text[:12]} ({len(text)})",
)
@pytest.mark.parametrize("place", ['{"a":%s}', '{"a":[1,%s]}'])
def test_a_number_beyond_a_double_is_refused(
    place: str, number: str, request: pytest.FixtureRequest
) -> None:
    for limits in (None, "roomy_stack"):
        if limits:
            request.getfixturevalue(limits)
        assert "beyond a double" in refusal((place % number).encode())


@pytest.mark.parametrize(
    "number",
    [
        *("0", "-0", "1", "-1", "123456789012345678", "1234567890123456789", "9" * 308),
        *("0.0", "-0.0", "1e308", "1.7976931348623157e308", "5e-324", "1e-400", "0." + "1" * 5000),
    ],
    ids=lambda text: f"{text[:20]} ({len(text)})",
)
def test_every_number_within_a_double_is_accepted(number: str) -> None:
    parsed = parse(b'{"a":%s}' % number.encode())

    assert parsed.document == json.loads(b'{"a":%s}' % number.encode())


@pytest.mark.parametrize("number", ["01", "1.", ".5", "+1", "1e", "0x1", "1_0", "--1", "١"])
def test_other_spellings_of_numbers_are_refused(number: str) -> None:
    refusal(b'{"a":%s}' % number.encode())


@pytest.mark.parametrize(
    "escape", ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "\\ud83d\\ud83d", "\\uD800x", "\\udfff"]
)
@pytest.mark.parametrize("place", ['{"a":"%s"}', '{"%s":1}', '{"a":[{"b":["x%s"]}]}'])
def test_a_lone_surrogate_is_refused_wherever_it_stands(place: str, escape: str) -> None:
    text = refusal((place % escape).encode())

    assert "surrogate" in text
    text.encode("utf-8")


@pytest.mark.parametrize("escape", ["\\u0000", "a\\u0000b", "\\\\\\u0000", "\\u0000\\\\u0000"])
@pytest.mark.parametrize("place", ['{"a":"%s"}', '{"%s":1}', '{"a":[{"b":["%s", 1.5]}]}'])
def test_a_nul_is_refused_wherever_it_stands(place: str, escape: str) -> None:
    assert "U+0000" in refusal((place % escape).encode())


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("\\ud83d\\ude00", "😀"),
        ("\\\\u0000", "\\u0000"),
        ("\\\\\\\\u0000", "\\\\u0000"),
        ("\\\\ud83d", "\\ud83d"),
        ("\\u0001\\u001f\\u007f", "\x01\x1f\x7f"),
        ("\\ufffe\\uffff", "\ufffe\uffff"),
        ('\\"\\/\\b\\f\\n\\r\\t', '"/\b\f\n\r\t'),
    ],
)
def test_other_escapes_are_text(literal: str, value: str) -> None:
    assert parse(f'{{"a":"{literal}"}}'.encode()).document == {"a": value}


@pytest.mark.parametrize("raw", [b"\x00", b"\x01", b"\n", b"\t", b"\x1f"])
def test_a_raw_control_character_in_a_string_is_refused(raw: bytes) -> None:
    refusal(b'{"a":"%s"}' % raw)


def nested(levels: int, opening: str, closing: str) -> bytes:
    """An object with so many levels, the object itself counted."""
    return (
        '{"a":' + opening * (levels - 1) + ("1" if closing else "") + closing * (levels - 1) + "}"
    ).encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.usefixtures("roomy_stack")
class TestNesting:
    """With the process's own limits raised, so that only ours can hold."""

    def test_32_levels_are_accepted(self, opening: str, closing: str) -> None:
        parse(nested(32, opening, closing))

    @pytest.mark.parametrize("levels", [33, 34, 100, 1000, 40_000])
    def test_deeper_is_refused(self, opening: str, closing: str, levels: int) -> None:
        assert "deeper" in refusal(nested(levels, opening, closing))

    def test_deeper_is_refused_when_nothing_is_closed(self, opening: str, closing: str) -> None:
        assert "deeper" in refusal(b'{"a":' + opening.encode() * 40_000)

    def test_many_brackets_side_by_side_are_not_deep(self, opening: str, closing: str) -> None:
        one = f"{opening}1{closing}"
        parse(f'{{"a":[{",".join([one] * 5000)}]}}'.encode())

    def test_brackets_in_strings_are_text(self, opening: str, closing: str) -> None:
        text = (opening * 100 + '\\"[{' + "\\\\").replace('"', '\\"').replace('\\\\"', '\\"')
        body = json.dumps({"a": text, opening * 50: [text, "]}"]}).encode()

        assert parse(body).document["a"] == text


@pytest.mark.parametrize(
    "body",
    [
        b'"' * 262_144,
        b'\\"' * 131_072,
        b'{"' * 131_072,
        b'["\\' * 87_000,
        b'{"a":"' + b"\\" * 200_000,
    ],
    ids=["quotes", "escaped quotes", "open keys", "open strings", "backslashes"],
)
def test_no_body_takes_long_to_refuse(body: bytes, roomy_stack: None) -> None:
    # Quadratic work on any of these takes minutes; the suite would not end.
    refusal(body)


def test_a_body_of_256_kib_is_accepted_and_one_byte_more_refused() -> None:
    frame = len(b'{"a":""}')

    largest = b'{"a":"%s"}' % (b"x" * (MAX_BODY_BYTES - frame))

    assert len(largest) == 262_144
    assert parse(largest).document["a"].startswith("xxx")
    assert "262145" in refusal(largest + b"\n")


def test_a_refusal_says_once_where_the_fault_is() -> None:
    assert refusal(b'{"a": "b') == "not JSON: Unterminated string starting at character 6"
    assert refusal(b"{} x") == "not JSON: Extra data at character 3"


@pytest.mark.parametrize(
    "text", ["a", "я" * 100, "\ud83d" * 100, "\0" * 100, "\n\r\u2028\u202e" * 50, "😀" * 100]
)
def test_a_quotation_is_short_printable_and_encodable(text: str) -> None:
    quotation = quote(text)

    assert len(quotation) <= 84
    assert quotation.isprintable()
    quotation.encode("utf-8")


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_numbers = st.integers(-(10**25), 10**25) | st.integers(-3, 3)
_plain = st.dictionaries(_texts, _texts | _numbers | st.lists(_texts, max_size=3), max_size=4)
_others = st.recursive(
    st.none() | st.booleans() | st.floats() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_documents = st.dictionaries(_texts, _texts | _numbers | _plain | _others, max_size=5)


@given(
    document=_documents,
    ascii_only=st.booleans(),
    close=st.booleans(),
    spoilt=st.tuples(st.integers(0, 200), st.binary(max_size=2)) | st.none(),
)
@example(document={"a": 10**15}, ascii_only=False, close=True, spoilt=None)
@example(document={"a": 10**15 + 1}, ascii_only=False, close=True, spoilt=None)
@example(document={"a\0": "b", "\ud800": 1}, ascii_only=True, close=True, spoilt=None)
def test_the_quick_reading_says_what_the_close_one_says(
    document: dict[str, Any], ascii_only: bool, close: bool, spoilt: tuple[int, bytes] | None
) -> None:
    text = json.dumps(
        document, ensure_ascii=ascii_only, separators=(",", ":") if close else (", ", " : ")
    )
    body = text.encode("utf-8", "surrogatepass")
    if spoilt is not None:
        position, bytes_there = spoilt
        body = body[:position] + bytes_there + body[position + 1 :]

    quick = _read_usual(body)

    if quick is not None:
        closely = _read_any(body)
        assert quick == closely
        assert repr(quick) == repr(closely), "1 is not 1.0, and the order of keys counts"


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        '{"eventId":"a","revision":3,"data":{"title":"Größe \u2028","tags":["a","b"]}}'.encode(),
    ],
)
def test_what_the_product_sends_is_read_quickly(body: bytes) -> None:
    quick = _read_usual(body)

    assert isinstance(quick, Parsed)
    assert quick == _read_any(body)
