"""Decoding is total: whatever the bytes are, an event or one of two errors."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from messaging.envelope import Event, decode
from messaging.errors import MalformedEvent, UnsupportedEvent
from tests.messaging.event_bodies import TYPES, as_bytes, published, with_data, withdrawn

GOOD = [
    as_bytes(published()),
    as_bytes(withdrawn()),
    as_bytes(
        with_data(language="en-GB", tags=["a", "😀"], extra={"a": [1.5, None, {"b": "\\u0000"}]})
    ),
]
SNIPPETS = [
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
    ),
    *(b"\\ud800", b"\\u0000", b"\\u", b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"-0", b"null"),
    *(
        b"[" * 40,
        b'{"a":' * 40,
        b'"type":"x",',
        b'"revision":3,',
        b" ",
        b"\n",
        b"true",
        b"3.0",
        b"2",
    ),
]


def verdict(body: bytes) -> Event | str:
    try:
        event = decode(body, TYPES)
    except (MalformedEvent, UnsupportedEvent) as error:
        text = str(error)
        assert 0 < len(text) <= 250
        assert text.isprintable()
        text.encode("utf-8")
        return text
    assert event.body == body
    assert 1 <= event.revision < 2**63
    assert type(event.revision) is int
    assert event.data.__class__ in TYPES.values()
    assert len(event.fingerprint) == len(event.content_fingerprint) == 32
    assert event.occurred_at.utcoffset() is not None
    return event


@given(st.binary(max_size=200))
def test_any_bytes(body: bytes) -> None:
    verdict(body)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    verdict(text.encode("utf-8", "surrogatepass"))


@st.composite
def spoilt_bodies(draw: st.DrawFn) -> bytes:
    body = bytearray(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 6)))
        body[start:end] = draw(st.sampled_from(SNIPPETS) | st.binary(max_size=4))
    return bytes(body)


@settings(max_examples=500)
@given(spoilt_bodies())
@example(GOOD[0] + b"\n")
def test_good_bodies_spoilt_anywhere(body: bytes) -> None:
    verdict(body)


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["material.published", "article-1", "2026-01-01T00:00:00Z", 1, 2]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(
    fields=st.dictionaries(st.sampled_from([*published(), "unknown"]), any_json, max_size=3),
    data=st.none()
    | st.dictionaries(
        st.sampled_from(["title", "summary", "body", "language", "tags", "reason", "x"]),
        any_json,
        max_size=3,
    ),
)
def test_any_value_in_any_field(fields: dict[str, Any], data: dict[str, Any] | None) -> None:
    document = published() | fields
    if data is not None:
        document["data"] = published()["data"] | data

    verdict(as_bytes(document))


@given(st.sampled_from(GOOD), st.data())
def test_no_beginning_of_an_event_is_an_event(body: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(body) - 1))

    assert isinstance(verdict(body[:cut]), str)
