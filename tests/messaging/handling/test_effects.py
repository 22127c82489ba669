"""What a handler refuses is left out of its batch, and nothing else of the batch is."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import psycopg
import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging import registry
from messaging.broker.wire import Delivery
from messaging.envelope import Event
from messaging.errors import OutageError, PermanentError
from messaging.handling import effects, inbox
from messaging.handling.effects import Refusals
from messaging.handling.halving import handle_in_halves
from messaging.handling.reading import Readable
from messaging.handling.unhandled import Unhandled
from messaging.models import InboxReceipt, OutboxMessage
from messaging.registry import Consumer, Outcome
from tests.messaging.at_once import at_once
from tests.messaging.facts import published, withdrawn

APPLIED = Outcome.APPLIED
one_transaction = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)


def refusing(
    name: str, is_bad: Callable[[Event], bool], how: Callable[[Event], None], calls: list[int]
) -> Consumer:
    """The consumer; its handler writes first and then comes to grief over each bad event."""
    consumer = registry.consumer(name)

    def apply(events: Sequence[Event], using: str) -> set[str]:
        calls.append(len(events))
        stale = consumer.apply(events, using)
        for event in filter(is_bad, events):
            how(event)
        return stale

    return replace(consumer, apply=apply)


def raising(event: Event) -> None:
    raise PermanentError(event.material_id)


def breaking_a_constraint(event: Event) -> None:
    AuditRecord.objects.filter(event_id=event.event_id).update(revision=0)


def swallowing_an_error(event: Event) -> None:
    try:
        with transaction.atomic(savepoint=False):
            breaking_a_constraint(event)
    except IntegrityError:
        pass


@committed
@pytest.mark.parametrize("how", [raising, breaking_a_constraint, swallowing_an_error])
def test_neighbours_of_a_refused_event_are_applied_once_in_order_and_by_one_commit(
    how: Callable[[Event], None],
) -> None:
    events = [published(f"article-{number}") for number in range(60)]
    bad = {events[number].event_id for number in (0, 1, 37, 59)}
    good = [event.event_id for event in events if event.event_id not in bad]
    calls: list[int] = []
    consumer = refusing("audit", lambda event: event.event_id in bad, how, calls)
    commits: list[int] = []  # by pieces, when they are all committed

    def apply(batch: Sequence[Event], using: str) -> set[str]:
        if not commits:
            transaction.on_commit(lambda: commits.append(1))
        return consumer.apply(batch, using)

    outcomes = inbox.handle(replace(consumer, apply=apply), events)

    assert [outcome == APPLIED for outcome in outcomes] == [e.event_id not in bad for e in events]
    assert all(isinstance(outcome, Exception | Outcome) for outcome in outcomes)
    assert commits
    assert [str(row.event_id) for row in AuditRecord.objects.order_by("id")] == good
    assert {str(row.event_id) for row in InboxReceipt.objects.all()} == set(good)
    assert len(calls) < 45
    again = inbox.handle(registry.consumer("audit"), events)
    assert again.count(APPLIED) == len(bad), "nothing of what was refused is left"


@committed
def test_what_is_no_event_s_own_fault_ends_the_whole_transaction() -> None:
    events = [published(f"article-{number}") for number in range(8)]
    calls: list[int] = []

    def outcomes(how: Callable[[Event], None]) -> object:
        bad = events[5].event_id
        return inbox.handle(
            refusing("audit", lambda event: event.event_id == bad, how, calls), events
        )

    def meeting_a_lock(_: Event) -> None:
        raise OperationalError from psycopg.errors.LockNotAvailable()

    def losing_the_connection(_: Event) -> None:
        connection.close()
        raise PermanentError

    def in_an_outage(_: Event) -> None:
        raise OutageError

    def without_the_right(_: Event) -> None:
        raise OperationalError from psycopg.errors.InsufficientPrivilege()

    for how, error in (
        (meeting_a_lock, OperationalError),
        (losing_the_connection, PermanentError),
        (in_an_outage, OutageError),
        (without_the_right, OperationalError),
    ):
        with pytest.raises(error):
            outcomes(how)
    assert calls == [8] * 4
    assert InboxReceipt.objects.count() == AuditRecord.objects.count() == 0


@committed
def test_a_search_that_takes_too_long_is_left_to_transactions_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "SEARCH_SECONDS", -1.0)
    events = [published(f"article-{number}") for number in range(8)]
    calls: list[int] = []
    consumer = refusing("audit", lambda event: event is events[3], raising, calls)

    with pytest.raises(PermanentError):
        inbox.handle(consumer, events)
    results = list(handle_in_halves(_readable(events), lambda some: inbox.handle(consumer, some)))

    assert [isinstance(each, Unhandled) for each in results] == [n == 3 for n in range(8)]
    assert AuditRecord.objects.count() == 7


@committed
def test_an_error_that_only_the_commit_shows_is_found_by_halves() -> None:
    events = [published(f"article-{number}") for number in range(20)]
    bad = events[11]

    def promising_too_much(event: Event) -> None:
        OutboxMessage.objects.create(
            event_id=event.event_id, material_id="a", revision=1, body=b"", letter_id=10**9
        )

    consumer = refusing("audit", lambda event: event is bad, promising_too_much, [])

    results = list(handle_in_halves(_readable(events), lambda some: inbox.handle(consumer, some)))

    (failed,) = [each for each in results if isinstance(each, Unhandled)]
    assert (failed.event, failed.transient) == (bad, True)
    assert isinstance(failed.error, IntegrityError)
    assert AuditRecord.objects.count() == InboxReceipt.objects.count() == 19


@committed
def test_two_that_search_at_once_do_not_end_in_a_deadlock() -> None:
    names = [f"article-{number}" for number in range(40)]
    bad = set(names[::7])
    consumer = refusing("catalog", lambda event: event.material_id in bad, raising, [])
    first = [published(name, 1) for name in names]
    second = [published(name, 2) for name in reversed(names)]

    outcomes = at_once(
        lambda: inbox.handle(consumer, first), lambda: inbox.handle(consumer, second)
    )

    assert [sum(isinstance(each, PermanentError) for each in some) for some in outcomes] == [6, 6]
    assert {entry.material_id: entry.revision for entry in CatalogEntry.objects.all()} == {
        name: 2 for name in names if name not in bad
    }


@committed
def test_batches_begin_in_pieces_as_long_as_refusals_come() -> None:
    lately, calls = Refusals(), list[int]()
    bad: set[str] = set()
    consumer = refusing("audit", lambda event: event.material_id in bad, raising, calls)

    def handle(*materials: str) -> list[int]:
        """The sizes of the pieces that were tried."""
        calls.clear()
        inbox.handle(consumer, [published(each) for each in materials], lately=lately)
        return list(calls)

    first, second = ([f"{name}-{n}" for n in range(200)] for name in ("first", "second"))
    bad |= {"first-50", "first-150", "second-50", "second-150"}
    assert max(handle(*first)) == 200
    assert max(handle(*second)) == 69
    assert handle("good-1", "first-50", "good-2", "second-50", "good-3") == [1] * 5
    _forget(lately)
    assert handle("good-4", "good-5", "first-50", "good-6") == [2, 1, 1]
    bad.clear()
    assert handle("good-7", "first-50", "good-8") == [1, 1, 1]
    assert handle("good-7", "first-50", "good-8") == [3], "it has gone through since"


@pytest.mark.any_database
def test_what_is_remembered_of_refusals_is_bounded() -> None:
    lately, template = Refusals(), published()
    facts = [replace_material(template, f"m{n}") for n in range(5000)]

    lately.note(facts, {template.event_id})

    assert [len(piece) for piece in lately.pieces(facts[:10])] == [1] * 10
    _forget(lately)
    assert [len(piece) for piece in lately.pieces(facts[:10])] == [10]
    assert [len(piece) for piece in lately.pieces(facts[-10:])] == [1] * 10


def _forget(lately: Refusals) -> None:
    """The share of refusals, not the materials."""
    another = published("another")
    for _ in range(100):
        lately.note([another] * 100, ())


def replace_material(event: Event, material_id: str) -> Event:
    return msgspec.structs.replace(event, material_id=material_id)


_events = st.builds(
    lambda make, material, revision, number: make(
        material, revision, eventId=str(uuid.UUID(int=number, version=4))
    ),
    st.sampled_from([published, withdrawn]),
    st.sampled_from(["a", "b", "c", "d"]),
    st.integers(1, 4),
    st.integers(0, 11),
)


@one_transaction
@pytest.mark.parametrize("name", ["catalog", "audit"])
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    batches=st.lists(st.lists(_events, max_size=9), max_size=4),
    bad=st.sets(st.tuples(st.sampled_from("abcd"), st.integers(1, 4)), max_size=6),
)
def test_batches_with_refusals_end_as_one_by_one_would(
    name: str, batches: list[list[Event]], bad: set[tuple[str, int]]
) -> None:
    consumer = refusing(name, lambda event: (event.material_id, event.revision) in bad, raising, [])

    def play(batches: Sequence[Sequence[Event]]) -> object:
        lately = Refusals()
        with transaction.atomic():
            told = [
                type(each.error) if isinstance(each, Unhandled) else each[1]
                for batch in batches
                for each in handle_in_halves(
                    _readable(batch), lambda some: inbox.handle(consumer, some, lately=lately)
                )
            ]
            kept = list(
                InboxReceipt.objects.order_by("event_id").values_list(
                    "event_id", "outcome", "duplicates", "names_revision"
                )
            )
            shown = set(CatalogEntry.objects.values_list("event_id", "visible"))
            recorded = list(AuditRecord.objects.order_by("id").values_list("event_id", flat=True))
            transaction.set_rollback(True)
        return told, kept, shown, recorded

    assert play(batches) == play([[event] for batch in batches for event in batch])


def _readable(events: Sequence[Event]) -> list[Readable]:
    return [
        Readable(Delivery(0, False, event.body, None, None, {}, {}), event, 0) for event in events
    ]
