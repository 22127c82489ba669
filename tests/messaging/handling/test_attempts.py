"""The durable count of failed attempts: one budget a fact and consumer, whatever copies exist."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from messaging import registry
from messaging.envelope import Event
from messaging.errors import FactConflict, TransientError
from messaging.handling import attempts
from messaging.handling.attempts import Failure
from messaging.models import FailedAttempt
from tests.messaging.at_once import at_once
from tests.messaging.facts import published

one_transaction = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)


def failed(event: Event, attempt: int = 0) -> Failure:
    return Failure(event, attempt, TransientError("not now"), transient=True)


def refused(event: Event, attempt: int = 0) -> Failure:
    return Failure(event, attempt, FactConflict("another fact"), transient=False)


def record(*failures: Failure, name: str = "catalog") -> list[int]:
    return attempts.record(registry.consumer(name), failures)


def kept(event: Event, *, transient: bool = True, name: str = "catalog") -> list[int]:
    rows = FailedAttempt.objects.filter(
        consumer=name, event_id=event.event_id, transient=transient
    ).order_by("id")
    return [row.attempt for row in rows]


@one_transaction
def test_a_failure_is_kept_with_what_is_needed_to_understand_it() -> None:
    event = published("article-107", 3)
    try:
        raise TransientError("the shelf is \x00 locked")
    except TransientError as error:
        failure = Failure(event, 1, error, transient=True)

    assert record(failure) == [1]

    row = FailedAttempt.objects.get()
    assert (row.consumer, str(row.event_id), row.type) == ("catalog", event.event_id, event.type)
    assert (row.material_id, row.revision, row.attempt) == ("article-107", 3, 1)
    assert (row.transient, row.counted, row.error_class) == (True, True, "TransientError")
    assert row.error_text == "the shelf is \\x00 locked"
    assert "test_attempts.py" in row.traceback
    assert row.failed_at is not None


@one_transaction
def test_attempts_grow_by_one_up_to_three() -> None:
    event = published()

    given_back = [record(failed(event, attempt))[0] for attempt in range(4)]

    assert given_back == [0, 1, 2, 3]
    assert kept(event) == [0, 1, 2, 3]


@one_transaction
def test_a_copy_with_a_smaller_attempt_gets_the_count() -> None:
    event = published()

    given_back = [record(failed(event, 0))[0] for _ in range(6)]

    assert given_back == [0, 1, 2, 3, 3, 3]
    assert kept(event) == [0, 1, 2, 3], "the last attempt again is no further attempt"


@one_transaction
def test_a_larger_attempt_stands_though_nothing_was_counted() -> None:
    event = published()

    assert record(failed(event, 2)) == [2]
    assert record(failed(event, 1)) == [3]
    assert kept(event) == [2, 3]


@one_transaction
def test_copies_in_one_batch_spend_one_budget() -> None:
    event, other = published(revision=1), published(revision=2)

    given_back = record(*[failed(event)] * 3, failed(other), *[failed(event)] * 3)

    assert given_back == [0, 1, 2, 0, 3, 3, 3]
    assert kept(event) == [0, 1, 2, 3]
    assert kept(other) == [0]


@one_transaction
def test_consumers_have_budgets_of_their_own() -> None:
    event = published()
    record(failed(event), name="catalog")
    record(failed(event, 1), name="catalog")

    assert record(failed(event), name="audit") == [0]
    assert record(failed(event), name="catalog") == [2]


@one_transaction
def test_a_permanent_failure_is_kept_and_keeps_its_own_attempt() -> None:
    event = published()
    record(failed(event, 0))

    assert record(refused(event, 2), refused(event, 2), refused(event, 0)) == [2, 2, 0]

    assert kept(event, transient=False) == [2, 2, 0]
    assert record(failed(event, 0)) == [1], "a permanent failure spends no budget"


@one_transaction
def test_what_a_redrive_has_set_aside_counts_no_more() -> None:
    event = published()
    for _ in range(4):
        record(failed(event))
    FailedAttempt.objects.update(counted=False)

    given_back = [record(failed(event, attempt))[0] for attempt in range(4)]

    assert given_back == [0, 1, 2, 3]


@one_transaction
def test_nothing_to_record_is_nothing() -> None:
    assert record() == []


@committed
def test_twins_that_race_spend_one_budget() -> None:
    event = published()

    given_back = at_once(lambda: record(failed(event))[0], times=4)

    assert sorted(given_back) == [0, 1, 2, 3]
    assert sorted(kept(event)) == [0, 1, 2, 3]


@committed
def test_many_that_race_with_many_facts_all_end_with_the_right_count() -> None:
    events = [published(f"article-{number}") for number in range(40)]
    orders = iter([events, events[::-1], events[20:] + events[:20]])

    at_once(lambda: record(*[failed(event) for event in next(orders)]), times=3)

    assert [sorted(kept(event)) for event in events] == [[0, 1, 2]] * 40


@one_transaction
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=5), max_size=5))
def test_any_batches_give_what_counting_by_hand_gives(
    batches: list[list[tuple[int, int]]],
) -> None:
    names = [str(uuid.uuid4()) for _ in range(3)]
    facts = [published(eventId=name) for name in names]
    counted = [0, 0, 0]

    for batch in batches:
        expected = []
        for which, attempt in batch:
            expected.append(min(max(attempt, counted[which]), 3))
            counted[which] = expected[-1] + 1

        assert record(*[failed(facts[which], attempt) for which, attempt in batch]) == expected
