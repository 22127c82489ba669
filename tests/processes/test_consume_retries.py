"""What fails for the moment waits in its own consumer's retry queue, and its budget is finite."""

import datetime as dt
import json
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from materials.audit.models import AuditRecord
from materials.audit.projection import apply as audit_apply
from materials.catalog.models import CatalogEntry
from messaging.broker.field_table import LongString, Timestamp
from messaging.envelope import Event
from messaging.errors import TransientError
from messaging.models import FailedAttempt, InboxReceipt
from tests.eventually import PATIENCE_SECONDS, eventually
from tests.messaging.facts import published
from tests.processes.harness import RETRY_DELAY_MS, Run
from tests.processes.queues import Queues, attempt_of, property_names
from tests.processes.working import consume_once, working

DELAY_SECONDS = RETRY_DELAY_MS / 1000


class Failing:
    """A handler that fails as long as it is told to, and counts its calls by event."""

    def __init__(self, error: BaseException, *, times: int = 10**6) -> None:
        self.error = error
        self.times = times
        self.calls: list[str] = []

    def __call__(self, events: Sequence[Event], using: str) -> set[str]:
        self.calls += [event.event_id for event in events]
        if len(self.calls) <= self.times:
            raise self.error
        return audit_apply(events, using)


def test_a_simulated_failure_climbs_the_ladder_to_dead_and_leaves_the_audit_in_peace(
    run: Run, queues: Queues
) -> None:
    event, other = published("article-107"), published("article-108")
    back = queues.wire.bound_queue(queues.topology.resume, "catalog")
    catalog = run("consume", "catalog", SIMULATE_TEMPORARY="article-107")
    audit = run("consume", "audit")
    catalog.wait_for("consuming")
    audit.wait_for("consuming")

    queues.publish(event, other)

    queues.await_ready("catalog", dead=1)
    # The record is written after the ack, so later than the copy is to be seen.
    catalog.wait_for('"outcome": "dead"')
    records = [r for r in catalog.log if r.get("eventId") == event.event_id]
    assert [(r["attempt"], r["outcome"]) for r in records] == [
        (0, "retried"),
        (1, "retried"),
        (2, "retried"),
        (3, "dead"),
    ]
    times = [dt.datetime.fromisoformat(r["timestamp"]) for r in records]
    pauses = [(after - before).total_seconds() for before, after in pairwise(times)]
    # A record may be written late on a busy machine, and then its pause looks short.
    assert all(pause >= DELAY_SECONDS / 2 for pause in pauses), pauses
    assert sum(pauses) >= 2.5 * DELAY_SECONDS
    returned = queues.wire.drain(back)
    assert [attempt_of(message) for message in returned] == [1, 2, 3]
    assert {message.routing_key for message in returned} == {"catalog"}
    (dead,) = queues.dead("catalog")
    assert dead.body == event.body
    assert dead.headers == {
        "attempt": 3,
        "reason": "SimulatedTransientError",
        "consumer": "catalog",
    }
    assert [each.attempt for each in FailedAttempt.objects.order_by("id")] == [0, 1, 2, 3]
    assert InboxReceipt.objects.get(consumer="catalog").material_id == "article-108"
    eventually(lambda: AuditRecord.objects.count() == 2)
    assert catalog.terminate() == audit.terminate() == 0
    assert {r["outcome"] for r in audit.log if r.get("eventId")} == {"applied"}
    assert queues.ready("audit") == {}


def test_switching_the_simulation_off_on_the_way_lets_it_be_applied(
    run: Run, some_delay: None, queues: Queues
) -> None:
    event = published("article-107")
    simulated = run("consume", "catalog", SIMULATE_TEMPORARY="article-107,article-108")
    queues.publish(event)
    simulated.wait_for('"retried"')
    assert simulated.terminate() == 0

    with working("catalog"):
        eventually(lambda: CatalogEntry.objects.filter(material_id="article-107").exists())

    queues.await_ready("catalog")
    assert InboxReceipt.objects.get(consumer="catalog").duplicates == 0


def test_copies_tell_what_they_are_and_leave_the_broker_s_own_notes_behind(
    run: Run, queues: Queues
) -> None:
    event = published("article-107")
    back = queues.wire.bound_queue(queues.topology.resume, "catalog")
    queues.publish(event)

    with working("catalog", simulate_temporary=frozenset({"article-107"})):
        queues.await_ready("catalog", dead=1)

    copies = [*queues.wire.drain(back), *queues.dead("catalog")]
    for copy, attempt in zip(copies, (1, 2, 3, 3), strict=True):
        assert copy.body == event.body
        # Each comes back from its retry queue with the notes of that one stay.
        assert [death["count"] for death in copy.headers.pop("x-death", [])] in ([1], [])
        notes = {name for name in copy.headers if name.startswith("x-first-death-")}
        assert copy.headers.keys() - notes == {"attempt", "reason", "consumer"}
        assert copy.headers["attempt"] == attempt
        assert copy.headers["reason"] == "SimulatedTransientError"
        assert copy.headers["consumer"] == "catalog"
        assert copy.properties.message_id == event.event_id
        assert copy.properties.type == event.type
        assert copy.properties.app_id == "catalogsite"
        assert copy.properties.delivery_mode == 2
        assert copy.properties.content_type == "application/json"
        assert type(copy.properties.timestamp) is int
        assert property_names(copy) == {
            "app_id",
            "content_type",
            "delivery_mode",
            "headers",
            "message_id",
            "timestamp",
            "type",
        }
    assert "x-first-death-queue" not in copies[-1].headers


FOREIGN: dict[str, Any] = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "score": 3.5,
    "when": Timestamp(2**40),
    "raw": b"\x00\xff",
    "latin": LongString(b"caf\xe9"),
    "nothing": None,
    "yes": True,
    "large": 2**62,
    "table": {"list": [1, "two", {"deep": [3.25]}], b"\xff": "odd key"},
}


def test_foreign_headers_travel_on_whatever_their_types(run: Run, queues: Queues) -> None:
    event = published("article-107")
    queues.give("catalog", event.body, headers=FOREIGN | {"reason": "of old", "consumer": "x"})

    with working("catalog", simulate_temporary=frozenset({"article-107"})):
        queues.await_ready("catalog", dead=1)

    (dead,) = queues.dead("catalog")
    assert dead.headers == FOREIGN | {
        "attempt": 3,
        "reason": "SimulatedTransientError",
        "consumer": "catalog",
    }


@pytest.mark.parametrize(
    "forged",
    [
        [],
        "x",
        [1],
        [{}],
        [{"count": "9"}],
        [{"count": 10**12, "queue": "q", "reason": "expired"}],
        {"count": 99},
    ],
    ids=repr,
)
def test_an_x_death_is_neither_counted_nor_carried(
    run: Run, long_delay: None, queues: Queues, forged: object
) -> None:
    headers = {"x-death": forged, "x-delivery-count": 99, "x-first-death-queue": 7, "CC": ["q"]}
    queues.give("catalog", published("article-107").body, headers=headers)

    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))

    assert FailedAttempt.objects.get().attempt == 0
    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    assert copy.headers.keys() == {"attempt", "reason", "consumer"}
    assert copy.headers["attempt"] == 1


def test_an_expiration_does_not_shorten_the_delay(
    run: Run, long_delay: None, queues: Queues
) -> None:
    queues.give("catalog", published("article-107").body, expiration="60000", priority=7)

    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))

    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    assert not {"expiration", "priority"} & property_names(copy)


@pytest.mark.parametrize("properties", [{}, {"headers": {}}, {"headers": {"attempt": 0}}])
def test_without_headers_it_is_the_first_attempt(
    run: Run, long_delay: None, queues: Queues, properties: dict[str, Any]
) -> None:
    queues.give("catalog", published("article-107").body, **properties)

    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))

    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    assert copy.headers["attempt"] == 1


@pytest.mark.parametrize("content_type", [None, "text/plain", "APPLICATION/JSON", "📦"])
def test_no_content_type_changes_what_becomes_of_a_message(
    run: Run, queues: Queues, content_type: str | None
) -> None:
    queues.give("catalog", published().body, content_type=content_type)

    consume_once("catalog")

    assert CatalogEntry.objects.count() == 1


def test_copies_of_one_fact_share_its_budget(run: Run, queues: Queues) -> None:
    event = published("article-107")
    queues.publish(*[event] * 3)

    with working("catalog", simulate_temporary=frozenset({"article-107"})):
        queues.await_ready("catalog", dead=3)

    attempts = [attempt_of(message) for message in queues.dead("catalog")]
    assert attempts == [3, 3, 3]
    assert FailedAttempt.objects.count() == 4


def test_an_attempt_above_the_count_stands(run: Run, queues: Queues) -> None:
    queues.give("catalog", published("article-107").body, headers={"attempt": 3})

    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))

    (dead,) = queues.dead("catalog")
    assert attempt_of(dead) == 3


class Strange(Exception):
    """A class of error that nobody has heard of."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        Strange("who knows"),
        TransientError("the handler says: later"),
        RecursionError(),
        TimeoutError("a foreign service"),
        Strange("\ud800 \x00 not storable"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_unknown_failure_of_a_handler_is_tried_again(
    run: Run, queues: Queues, error: Exception
) -> None:
    event = published()
    handler = Failing(error, times=2)
    queues.publish(event)

    with working("audit", apply=handler):
        eventually(lambda: InboxReceipt.objects.filter(consumer="audit").count() == 1)

    assert handler.calls == [event.event_id] * 3
    assert AuditRecord.objects.count() == 1
    rows = FailedAttempt.objects.order_by("id")
    assert [(row.attempt, row.transient, row.error_class) for row in rows] == [
        (0, True, type(error).__name__),
        (1, True, type(error).__name__),
    ]
    assert queues.ready("audit") == {}


def test_a_name_of_a_failure_is_cut_to_a_hundred_characters(
    run: Run, long_delay: None, queues: Queues
) -> None:
    queues.publish(published())
    endless = type("Я" * 300, (Exception,), {})

    consume_once("audit", apply=Failing(endless()))

    (copy,) = queues.wire.drain(queues.topology.retry("audit"))
    assert copy.headers["reason"] == "Я" * 100


def test_a_poison_among_hundreds_costs_its_neighbours_nothing(run: Run, queues: Queues) -> None:
    events = [published(f"article-{number}") for number in range(500)]
    poison = {events[n].event_id for n in range(37, 500, 100)}
    applied: list[int] = []
    rest_is_there = threading.Event()

    def apply(batch: Sequence[Event], using: str) -> set[str]:
        if any(event.event_id in poison for event in batch):
            raise ValueError("poison")
        applied.append(len(batch))
        rest_is_there.wait(PATIENCE_SECONDS)
        return audit_apply(batch, using)

    queues.publish(events[0])

    with working("audit", apply=apply):
        eventually(lambda: applied)
        queues.publish(*events[1:])
        queues.await_ready("audit")
        threading.Timer(0.5, rest_is_there.set).start()
        queues.await_ready("audit", dead=5)

    assert AuditRecord.objects.count() == 495
    assert InboxReceipt.objects.filter(consumer="audit").count() == 495
    assert {str(row.event_id) for row in FailedAttempt.objects.all()} == poison
    assert FailedAttempt.objects.count() == 4 * 5
    assert sum(applied) == 495
    assert len(applied) < 495 / 4, "most neighbours stay together"


def test_a_failing_message_is_told_in_the_log_with_its_names_and_without_its_body(
    run: Run, queues: Queues, tmp_path: Path
) -> None:
    event = published("article-107", 4, title="A title nobody must log")
    queues.publish(event)

    command = run.manage("consume", "catalog", "--once", SIMULATE_TEMPORARY="article-107")

    assert command.returncode == 0
    (line,) = [line for line in command.stderr.splitlines() if event.event_id in line]

    record = json.loads(line)
    assert (
        record.items()
        >= {
            "consumer": "catalog",
            "eventId": event.event_id,
            "materialId": "article-107",
            "revision": 4,
            "attempt": 0,
            "outcome": "retried",
            "reason": "SimulatedTransientError",
        }.items()
    )
    assert "nobody must log" not in command.stderr
    assert command.stdout == ""
