"""A copy out of a dead queue as a record that every database takes, whatever it holds."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messaging.broker.field_table import Timestamp, Undecodable, decode_table
from messaging.broker.wire import Delivery
from messaging.event.facts import Facts, read_facts
from messaging.letters.arrivals import Arrival, read_arrival
from tests.messaging.event_bodies import EVENT_ID, as_bytes, published, replaced, spliced, with_data

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WHOLE = Facts(UUID(EVENT_ID), "material.published", "article-107", 3)


def arrival(
    body: bytes = b"{}", headers: Any = None, *, redelivered: bool = False, **properties: Any
) -> Arrival:
    delivery = Delivery(
        tag=1,
        redelivered=redelivered,
        body=body,
        message_id=properties.get("message_id"),
        type=properties.get("type"),
        headers=headers or {},
        properties=properties,
    )
    return read_arrival(delivery, consumer="catalog", now=NOW)


@pytest.mark.parametrize(
    "body",
    [
        as_bytes(published()),
        as_bytes(published(schemaVersion=2, data=None)),
        b"\xef\xbb\xbf" + as_bytes(published()),
        as_bytes(published()) + b"{}",
        spliced("x", "NaN"),
        spliced("x", "9" * 5000),
        as_bytes(with_data(title="\ud83d")),
        as_bytes(with_data(title="a\0b")),
        as_bytes(published()).replace(b"A title", b"\xff"),
        as_bytes(with_data(body="x" * 2_000_000)),
    ],
    ids=range(10),
)
def test_what_a_spoilt_body_still_says_is_read(body: bytes) -> None:
    assert read_facts(body) == WHOLE


@pytest.mark.parametrize(
    ("body", "lacking"),
    [
        (replaced("revision", "true"), "revision"),
        (replaced("revision", "3.0"), "revision"),
        (replaced("revision", "0"), "revision"),
        (replaced("revision", str(2**63)), "revision"),
        (replaced("revision", "9" * 4301), "revision"),
        (as_bytes(published(eventId=EVENT_ID.upper())), "event_id"),
        (as_bytes(published(eventId=EVENT_ID + "\0")), "event_id"),
        (spliced("eventId", f'"{EVENT_ID}"'), "event_id"),
        (as_bytes(published(materialId="a" * 65)), "material_id"),
        (as_bytes(published(materialId="a\ud83d")), "material_id"),
        (as_bytes(published(type="\x1b[31m")), "type"),
        (as_bytes(published(type="x" * 101)), "type"),
    ],
)
def test_what_would_not_be_valid_there_is_left_out(body: bytes, lacking: str) -> None:
    facts = read_facts(body)

    assert getattr(facts, lacking) is None
    rest = {"event_id", "type", "material_id", "revision"} - {lacking}
    assert all(getattr(facts, name) == getattr(WHOLE, name) for name in rest)


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode()))
def test_no_body_can_break_the_reading(body: bytes) -> None:
    found = arrival(body)

    assert found.body == body
    assert "\0" not in found.body_text + found.error
    found.body_text.encode()


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 5_000_000, b"1" * 10**6],
    ids=["lists", "objects", "megabytes of lists", "digits"],
)
def test_nesting_and_length_do_no_harm(body: bytes) -> None:
    assert read_facts(body) == Facts()


@pytest.mark.parametrize(
    ("timestamp", "died_at"),
    [
        (1_764_500_000, datetime.fromtimestamp(1_764_500_000, UTC)),
        (None, NOW),
        (0, NOW),
        (2**64 - 1, NOW),
        (int((NOW + timedelta(days=2)).timestamp()), NOW),
        (True, NOW),
        ("soon", NOW),
    ],
)
def test_a_timestamp_that_cannot_be_a_death_is_replaced_by_the_moment_of_collecting(
    timestamp: object, died_at: datetime
) -> None:
    assert arrival(timestamp=timestamp).died_at == died_at


def test_headers_that_amqp_cannot_write_are_kept_for_people() -> None:
    headers = {"good": 1, "bad": Undecodable(b"Z\0\1"), "nested": {"deep": [Undecodable(b"Z")]}}

    found = arrival(headers=headers)

    assert decode_table(found.header_table, 0)[0] == {"good": 1}
    assert found.headers["bad"] == {"undecodable": "WgAB"}
    assert found.headers["nested"] == {"deep": [{"undecodable": "Wg=="}]}


@pytest.mark.parametrize(
    ("headers", "reason", "attempt"),
    [
        ({}, "unknown", None),
        ({"reason": "FactConflict", "attempt": 2}, "FactConflict", 2),
        ({"reason": "", "attempt": "2"}, "unknown", None),
        ({"reason": b"\xff", "attempt": True}, "unknown", None),
        ({"reason": " a\r\n\0b ", "attempt": 4}, "a ␀b", None),
        ({"reason": "x" * 500, "attempt": Timestamp(1)}, "x" * 100, None),
    ],
)
def test_reason_and_attempt_are_taken_as_far_as_they_are_sound(
    headers: dict[str, Any], reason: str, attempt: int | None
) -> None:
    found = arrival(headers=headers)

    assert (found.reason, found.attempt) == (reason, attempt)


def test_a_copy_is_known_again_though_the_broker_counts_on_it() -> None:
    headers = {"attempt": 3, "reason": "X", "own": b"\xff"}
    first = arrival(headers=headers, timestamp=1_764_500_000)

    again = arrival(
        headers={**headers, "x-delivery-count": 2}, timestamp=1_764_500_000, redelivered=True
    )
    other_second = arrival(headers=headers, timestamp=1_764_500_001)
    other_reason = arrival(headers={**headers, "reason": "Y"}, timestamp=1_764_500_000)

    assert again.mark == first.mark
    assert len({first.mark, other_second.mark, other_reason.mark}) == 3


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats()
        | st.text(max_size=10)
        | st.binary(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_any_header_can_be_written_as_json_and_as_a_table(value: object) -> None:
    found = arrival(headers={"any": value})

    json.dumps(found.headers, allow_nan=False).encode()
    assert decode_table(found.header_table, 0)[1] == len(found.header_table)


def test_of_a_wrong_header_the_header_is_told_though_the_body_is_wrong_too() -> None:
    headers = {"attempt": 9, "reason": "InvalidAttempt", "consumer": "catalog"}

    assert "attempt" in arrival(b"{}", headers).error
    assert "attempt" not in arrival(b"{}", headers | {"reason": "MalformedEvent"}).error
