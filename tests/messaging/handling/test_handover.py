"""Handing over what failed: to which queue, with which headers, and what if it is refused."""

import time
from collections.abc import Sequence
from typing import Any, cast

import pytest

from messaging import registry
from messaging.broker.confirms import Result, Verdict
from messaging.broker.session import Session
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery, Message
from messaging.errors import BrokerUnavailable, MalformedEvent, TransientError
from messaging.handling import handover as module
from messaging.handling import suspects as suspects_module
from messaging.handling.handover import Handover
from messaging.handling.suspects import PAUSE_SECONDS, Suspects
from messaging.handling.unhandled import Unhandled
from messaging.registry import Outcome
from tests.messaging.facts import published

pytestmark = pytest.mark.any_database

CONFIRMED = Result(Verdict.CONFIRMED)
NACKED = Result(Verdict.NACKED, "full")
UNKNOWN = Result(Verdict.UNKNOWN)


class FakeSession:
    """Answers every batch with what is scripted for the queue of each message."""

    frame_bytes = 131_064

    def __init__(self) -> None:
        self.failure: BrokerUnavailable | None = None
        self.answers: dict[str, Result] = {}
        self.sent: list[list[Message]] = []

    def submit(self, messages: Sequence[Message]) -> list[Message]:
        self.sent.append(list(messages))
        return list(messages)

    def settle(self, batch: list[Message]) -> list[Result]:
        return [self.answers.get(each.routing_key, CONFIRMED) for each in batch]

    @property
    def last_batch(self) -> list[Message]:
        return self.sent[-1]

    @property
    def last(self) -> Message:
        return self.sent[-1][-1]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def handover(session: FakeSession) -> Handover:
    catalog = registry.consumer("catalog")
    topology = Topology("ns", "classic", 300, (catalog,))
    return Handover(catalog, topology, cast(Session, session), Suspects())


def offer(handover: Handover, *unhandled: Unhandled) -> list[Unhandled]:
    """Those whose original may be acked."""
    handover.send(unhandled)
    return [each for taken in handover.settle() for each in taken]


def offer_again(handover: Handover) -> list[Unhandled]:
    return [each for taken in handover.offer_again() for each in taken]


def transient(attempt: int | None = 0, **delivery: Any) -> Unhandled:
    return unhandled(attempt, TransientError("later"), transient=True, **delivery)


def permanent(attempt: int | None = 0, **delivery: Any) -> Unhandled:
    return unhandled(attempt, MalformedEvent("never"), transient=False, **delivery)


def unhandled(
    attempt: int | None, error: Exception, *, transient: bool, **properties: Any
) -> Unhandled:
    event = properties.pop("event", None)
    delivery: dict[str, Any] = {
        "tag": 1,
        "redelivered": False,
        "body": event.body if event else b"the body",
        "message_id": None,
        "type": None,
        "headers": {},
        "properties": {},
    }
    return Unhandled(Delivery(**(delivery | properties)), event, attempt, error, transient)


@pytest.mark.parametrize(
    ("failed", "queue", "attempt", "outcome"),
    [
        (transient(0), "ns.catalog.retry", 1, Outcome.RETRIED),
        (transient(2), "ns.catalog.retry", 3, Outcome.RETRIED),
        (transient(3), "ns.catalog.dead", 3, Outcome.DEAD),
        (permanent(0), "ns.catalog.dead", 0, Outcome.DEAD),
        (permanent(2), "ns.catalog.dead", 2, Outcome.DEAD),
    ],
)
def test_the_kind_and_the_attempt_choose_the_queue(
    session: FakeSession,
    handover: Handover,
    failed: Unhandled,
    queue: str,
    attempt: int,
    outcome: Outcome,
) -> None:
    assert offer(handover, failed) == [failed]

    assert failed.outcome is outcome
    assert (session.last.exchange, session.last.routing_key) == ("", queue)
    assert session.last.body == b"the body"
    assert session.last.headers == {
        "attempt": attempt,
        "reason": type(failed.error).__name__,
        "consumer": "catalog",
    }


def test_a_wrong_attempt_stays_as_it_came_where_amqp_can_hold_it(
    session: FakeSession, handover: Handover
) -> None:
    offer(handover, permanent(None, headers={"attempt": "two", "k": 1}))
    assert session.last.headers["attempt"] == "two"
    assert session.last.headers["k"] == 1

    offer(handover, permanent(None, headers={"attempt": object()}))
    assert "attempt" not in session.last.headers


def test_a_copy_that_cannot_be_encoded_goes_at_once_without_what_it_carried(
    session: FakeSession, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(batch: list[Message]) -> list[Result]:
        odd = Result(Verdict.UNENCODABLE, "too long")
        return [odd if "x" in each.headers or each.type else CONFIRMED for each in batch]

    monkeypatch.setattr(session, "settle", settle)
    carries, sound = permanent(headers={"x": 1, "attempt": 0}, tag=1), permanent(tag=2)
    spoilt = permanent(None, headers={"x": 1, "attempt": "two"}, tag=3)
    hopeless = permanent(type="t", tag=4)

    assert offer(handover, carries, sound, spoilt, hopeless) == [sound, carries, spoilt]

    own = {"reason": "MalformedEvent", "consumer": "catalog"}
    assert [each.headers for each in session.last_batch] == [
        own | {"attempt": 0},
        own,
        own | {"attempt": 0},
    ]
    assert handover.refused == 1, "it is no header's fault"


def test_ids_come_from_the_event_and_else_from_the_message(
    session: FakeSession, handover: Handover
) -> None:
    event = published()

    offer(handover, transient(event=event, message_id="other", type="other.type"))
    assert (session.last.message_id, session.last.type) == (event.event_id, "other.type")

    offer(handover, transient(event=event))
    assert (session.last.message_id, session.last.type) == (event.event_id, event.type)

    offer(handover, permanent(message_id="other"))
    assert (session.last.message_id, session.last.type) == ("other", None)


def test_what_is_not_taken_is_kept_for_later_and_the_rest_is_not_held_up(
    session: FakeSession, handover: Handover
) -> None:
    refused, taken = permanent(), transient()
    session.answers["ns.catalog.dead"] = NACKED

    assert offer(handover, refused, taken) == [taken]

    assert handover.refused == 1
    pause = handover.seconds_to_next_offer()
    assert pause is not None
    assert 0 < pause <= 1
    assert offer_again(handover) == [], "not before its pause is over"
    assert len(session.sent) == 1


def test_a_refused_copy_is_offered_again_with_growing_pauses_until_it_is_taken(
    session: FakeSession, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.running.process.random.uniform", lambda least, most: most)
    clock = Clock(monkeypatch)
    refused = permanent()
    session.answers["ns.catalog.dead"] = NACKED
    offer(handover, refused)

    pauses = []
    for _ in range(7):
        pauses.append(handover.seconds_to_next_offer())
        clock.advance(pauses[-1])
        assert offer_again(handover) == []
    session.answers.clear()
    clock.advance(handover.seconds_to_next_offer())

    assert offer_again(handover) == [refused]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 30, 30])
    assert handover.refused == 0
    assert handover.seconds_to_next_offer() is None
    session.answers["ns.catalog.dead"] = NACKED
    offer(handover, refused)
    assert handover.seconds_to_next_offer() == pytest.approx(1), "the success was a new beginning"


def test_others_that_go_through_meanwhile_do_not_put_off_the_next_offer(
    session: FakeSession, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    refused = permanent()
    session.answers["ns.catalog.dead"] = NACKED
    offer(handover, refused)
    due = clock.now + (handover.seconds_to_next_offer() or 0)

    for _ in range(50):
        clock.advance(0.01)
        offer(handover, transient())

    assert clock.now + (handover.seconds_to_next_offer() or 0) <= max(due, clock.now)


def test_batches_without_copies_put_no_offer_off(
    session: FakeSession, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    refused = permanent()
    session.answers["ns.catalog.dead"] = NACKED
    offer(handover, refused)
    session.answers.clear()

    for _ in range(3):
        clock.advance(0.9 * (handover.seconds_to_next_offer() or 0))
        assert list(handover.settle()) == []
    clock.advance(handover.seconds_to_next_offer())

    assert clock.now < 1002
    assert offer_again(handover) == [refused]


def test_when_the_queue_takes_another_copy_the_refused_ones_wait_no_longer(
    session: FakeSession, handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    refused, other = permanent(), permanent()
    session.answers["ns.catalog.dead"] = NACKED
    for _ in range(6):
        offer(handover, permanent())
    offer(handover, refused)
    session.answers.clear()

    assert offer(handover, transient()) != []
    assert handover.seconds_to_next_offer() != 0, "another queue says nothing about this one"
    assert offer(handover, other) == [other]

    assert handover.seconds_to_next_offer() == 0
    clock.advance(0)
    assert refused in offer_again(handover)


def test_when_nothing_is_known_the_copy_is_not_offered_again_by_this_session(
    session: FakeSession, handover: Handover
) -> None:
    session.failure = BrokerUnavailable("gone")
    session.answers["ns.catalog.retry"] = UNKNOWN

    assert offer(handover, transient()) == []

    assert handover.refused == 0, "the original comes back by itself"


class Broken(FakeSession):
    """Ends, as the broker does, over each batch that holds this body."""

    def __init__(self, culprit: bytes) -> None:
        super().__init__()
        self.culprit = culprit

    def settle(self, batch: list[Message]) -> list[Result]:
        if self.failure is None and any(each.body == self.culprit for each in batch):
            self.failure = BrokerUnavailable("closed")
            return [Result(Verdict.SUSPECT, "406")] * len(batch)
        return super().settle(batch)


def test_a_copy_that_ends_the_session_is_found_and_then_keeps_nobody_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    catalog = registry.consumer("catalog")
    topology = Topology("ns", "classic", 300, (catalog,))
    suspects = Suspects()
    bodies = [b"1", b"2", b"large", b"3", b"4"]
    waiting = [permanent(body=body) for body in bodies]
    taken: list[bytes] = []
    sessions = 0

    def serve_until_lost() -> None:
        nonlocal sessions
        sessions += 1
        session = Broken(b"large")
        handover = Handover(catalog, topology, cast(Session, session), suspects)
        handover.send(list(waiting))
        for part in handover.settle():
            if session.failure:
                return
            for each in part:
                waiting.remove(each)
                taken.append(each.delivery.body)

    while len(waiting) > 1:
        serve_until_lost()

    assert sorted(taken) == [b"1", b"2", b"3", b"4"]
    assert sessions == 3, "one to see it, one to find it, one without it"
    serve_until_lost()
    assert [each.delivery.body for each in waiting] == [b"large"]
    clock.advance(PAUSE_SECONDS)
    monkeypatch.setattr(Broken, "settle", FakeSession.settle)
    serve_until_lost()
    assert waiting == []


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(suspects_module, "time", self)

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time()

    def advance(self, seconds: float | None) -> None:
        self.now += (seconds or 0) + 0.001
