"""When two bodies tell the same fact, and when they do not."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from messaging.envelope import Event, decode
from tests.messaging.event_bodies import (
    ABSENT,
    EVENT_ID,
    TYPES,
    as_bytes,
    published,
    spliced,
    with_data,
)

OTHER_ID = EVENT_ID[:-1] + "2"


def decoded(document: Any) -> Event:
    return decode(document if isinstance(document, bytes) else as_bytes(document), TYPES)


def spelt(document: Any) -> bytes:
    """The contract's words: keys sorted, no white space, UTF-8."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def test_the_fingerprint_is_the_sha_256_of_the_sorted_object() -> None:
    document = with_data(title="Ünïcode \u2028 / \x7f", extra={"b": [1, None], "a": {}})

    event = decoded(document)

    assert event.fingerprint == sha256(spelt(document)).digest()


def test_the_content_fingerprint_leaves_out_identity_and_time() -> None:
    document = published()

    event = decoded(document)

    rest = {name: document[name] for name in document.keys() - {"eventId", "occurredAt"}}
    assert event.content_fingerprint == sha256(spelt(rest)).digest()


def test_key_order_white_space_and_escapes_make_no_difference() -> None:
    document = with_data(title="Заголовок 😀/", extra={"b": 1, "a": [{"d": 1, "c": 2}]})
    turned = dict(reversed(document.items())) | {"data": dict(reversed(document["data"].items()))}
    spellings = [
        json.dumps(document, ensure_ascii=False).encode(),
        json.dumps(document, ensure_ascii=True, indent=3).encode(),
        json.dumps(turned, separators=(",", ":")).replace("/", "\\/").encode(),
        b"\r\n\t " + json.dumps(turned).replace("title", "\\u0074itle").encode() + b"\n",
    ]

    events = [decoded(body) for body in spellings]

    assert len(set(spellings)) == len(spellings)
    assert len({event.fingerprint for event in events}) == 1
    assert len({event.content_fingerprint for event in events}) == 1


@pytest.mark.parametrize(
    "changed",
    [
        published(revision=4),
        published(materialId="article-108"),
        published(actor="other"),
        published(actor=ABSENT),
        published(unknown=None),
        published(unknown=""),
        with_data(title="A title "),
        with_data(tags=[]),
        with_data(tags=["a", "b"]),
        with_data(tags=["b", "a"]),
        with_data(title="e\u0301"),
        with_data(title="\u00e9"),
        with_data(unknown=[1]),
        with_data(unknown=["1"]),
        with_data(unknown=[True]),
        with_data(unknown=[1.0]),
    ],
    ids=lambda document: ascii(document)[-40:],
)
def test_everything_else_makes_a_difference(changed: dict[str, Any]) -> None:
    original, other = decoded(published()), decoded(changed)

    assert other.fingerprint != original.fingerprint
    assert other.content_fingerprint != original.content_fingerprint


NUMBERS = [
    *("0", "-0", "0.0", "-0.0", "0e0", "1", "1.0", "1.00", "1e0", "1E0", "10e-1", "100", "1e2"),
    *("1e+2", "1e-400", "5e-324", "0.1", "0.1000000000000000055"),
    *("9007199254740993", "9007199254740993.0", "9007199254740992.0", "9" * 30, "9" * 30 + ".0"),
]


def test_two_spellings_of_a_number_are_two_contents() -> None:
    # Nobody can say which readers keep 1.00 and 1 apart, so nothing is taken for equal.
    prints = {number: decoded(spliced("x", f"[{number}]")).fingerprint for number in NUMBERS}

    assert len(set(prints.values())) == len(NUMBERS)


def test_a_number_is_not_the_string_of_its_digits() -> None:
    bodies = [spliced("x", literal) for literal in ("1.50", '"1.50"', '"\\\\u00001.50\\\\u0000"')]

    assert len({decoded(body).fingerprint for body in bodies}) == 3


def test_odd_numbers_do_not_undo_the_sorting() -> None:
    one = spliced("x", '{"b": 1.50, "a": "ü"}')
    other = spliced("x", '{"a":"\\u00fc","b":1.50}')

    assert decoded(one).fingerprint == decoded(other).fingerprint
    assert b'"x":{"a":"\xc3\xbc","b":1.50}' not in one
    assert decoded(one).document["x"] == {"b": 1.5, "a": "ü"}


@pytest.mark.parametrize("number", ["1", "1.50"], ids=["plain", "odd"])
@pytest.mark.parametrize(
    "twin",
    [
        {"eventId": EVENT_ID, "occurredAt": "2026-01-02T03:04:05.000006Z"},
        {"a": 1, "eventId": EVENT_ID, "occurredAt": "2026-01-02T03:04:05.000006Z"},
        {"a": 1, "eventId": EVENT_ID},
        {"a": f',"eventId":"{EVENT_ID}"'},
    ],
)
def test_only_the_events_own_identity_is_left_out(twin: dict[str, Any], number: str) -> None:
    """An unknown field may hold the very same members."""
    document = published(nested=twin, zone=[twin])
    later = document | {"eventId": OTHER_ID, "occurredAt": "2027-01-01T00:00:00+01:00"}
    less = document | {"nested": {}}

    first, second, third = (
        decoded(as_bytes(each)[:-1] + f',"n":{number}}}'.encode())
        for each in (document, later, less)
    )

    assert first.fingerprint != second.fingerprint
    assert first.content_fingerprint == second.content_fingerprint
    assert first.content_fingerprint != third.content_fingerprint


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(extra=json_values, more=json_values)
@example(extra=["\\u00001.5\\u0000", '"\\u00001.5', "\\"], more=1.5)
@example(extra=["\\u00001\\u0000", '"\\u00001', "\\"], more=1)
def test_the_fingerprint_is_what_the_contract_says_for_any_content(extra: Any, more: Any) -> None:
    document = with_data(extra=extra) | {"éxtra": more}

    event = decoded(document)

    rest = {name: document[name] for name in document.keys() - {"eventId", "occurredAt"}}
    assert event.document == document
    assert event.fingerprint == sha256(spelt(document)).digest()
    assert event.content_fingerprint == sha256(spelt(rest)).digest()
