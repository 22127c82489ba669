"""Making events: what is made is what consumers accept."""

import json
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from materials.events import MaterialPublished, MaterialWithdrawn
from messaging.envelope import Event, decode, new_event
from messaging.errors import MalformedEvent, UnsupportedEvent
from messaging.event import ids as event_ids
from tests.messaging.event_bodies import TYPES


def made(**changes: Any) -> Event:
    fields: dict[str, Any] = {
        "type": "material.published",
        "material_id": "article-107",
        "revision": 1,
        "data": MaterialPublished("Заголовок", "", "text"),
    }
    return new_event(types=TYPES, **(fields | changes))


def test_a_new_event_is_what_its_bytes_decode_to() -> None:
    event = made(actor="editor", data=MaterialPublished("t", "s", "b", "en", ("a",)))

    assert decode(event.body, TYPES) == event
    assert event.schema_version == 1
    assert event.actor == "editor"
    assert event.data.tags == ("a",)


def test_the_body_is_compact_utf_8_without_what_is_not_said() -> None:
    event = made(occurred_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))

    expected = (
        f'{{"eventId":"{event.event_id}","type":"material.published","schemaVersion":1,'
        '"occurredAt":"2026-01-02T03:04:05.000000Z","materialId":"article-107","revision":1,'
        '"data":{"title":"Заголовок","summary":"","body":"text"}}'
    )
    assert event.body == expected.encode("utf-8")


def test_it_happened_now_unless_told() -> None:
    before = datetime.now(UTC)

    event = made()

    assert before <= event.occurred_at <= datetime.now(UTC)
    assert event.occurred_at_text.endswith("Z")
    assert len(event.occurred_at_text) == len("2026-01-02T03:04:05.000000Z")


def test_a_time_with_another_offset_is_written_in_utc() -> None:
    there = timezone(timedelta(hours=3))

    event = made(occurred_at=datetime(2026, 1, 2, 3, 4, 5, 6, there))

    assert event.occurred_at_text == "2026-01-02T00:04:05.000006Z"


def test_a_time_without_an_offset_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="offset"):
        made(occurred_at=datetime(2026, 1, 2))


@pytest.mark.parametrize(
    "changes",
    [
        {"material_id": "Article"},
        {"material_id": ""},
        {"revision": 0},
        {"revision": 2**63},
        {"revision": True},
        {"revision": 1.0},
        {"revision": "1"},
        {"revision": float("nan")},
        {"actor": ""},
        {"actor": "x" * 151},
        {"data": MaterialPublished("", "", "")},
        {"data": MaterialPublished("\u3000", "", "")},
        {"data": MaterialPublished("t" * 201, "", "")},
        {"data": MaterialPublished("t", "", "", "no such language")},
        {"data": MaterialPublished("t", "", "", None, ("a",) * 21)},
        {"data": MaterialPublished("t", "", "\0")},
        {"data": MaterialPublished("t", "", "\ud800")},
        {"data": MaterialPublished("t", "", "я" * 140_000)},
        {"data": MaterialPublished("t", None, "")},  # type: ignore[arg-type]
        {"data": MaterialWithdrawn("")},
        {"type": "material.withdrawn"},
    ],
    ids=lambda changes: ascii(changes)[:50],
)
def test_what_consumers_would_refuse_is_not_made(changes: dict[str, Any]) -> None:
    with pytest.raises(MalformedEvent):
        made(**changes)


def test_an_event_of_an_unknown_type_is_not_made() -> None:
    with pytest.raises(UnsupportedEvent):
        made(type="material.exploded")


def test_ids_are_uuids_of_version_7_of_this_moment() -> None:
    before = time.time_ns() // 1_000_000

    event_id = uuid.UUID(made().event_id)

    assert event_id.version == 7
    assert event_id.variant == uuid.RFC_4122
    assert before <= event_id.int >> 80 <= time.time_ns() // 1_000_000 + 1


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads change places as often as can be, so that a race shows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_ids_are_unique_and_grow_even_within_a_millisecond_and_across_threads() -> None:
    made_ids: list[list[str]] = [[] for _ in range(4)]

    def make(into: list[str]) -> None:
        into.extend(event_ids.new_event_id() for _ in range(5000))

    threads = [threading.Thread(target=make, args=(ids,)) for ids in made_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(ids == sorted(ids) for ids in made_ids)
    assert len({event_id for ids in made_ids for event_id in ids}) == 20_000


def test_ids_grow_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = event_ids.new_event_id()
    past = time.time_ns() - 3_600 * 10**9
    monkeypatch.setattr(event_ids.time, "time_ns", lambda: past)

    later = event_ids.new_event_id()

    assert later > earlier


def test_no_value_is_converted_on_the_way_to_the_wire() -> None:
    event = made(data=MaterialPublished("3", "true", "null"))

    assert json.loads(event.body)["data"] == {"title": "3", "summary": "true", "body": "null"}
