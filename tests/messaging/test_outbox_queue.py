"""What the relay reads from the outbox, and when."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now

from messaging import outbox, outbox_queue
from messaging.models import OutboxMessage
from messaging.outbox_queue import DueRows
from tests.messaging import facts
from tests.processes.harness import Run
from tests.processes.relaying import record, record_facts, record_row


def due_rows() -> DueRows:
    return DueRows(using="default")


def read_all(due: DueRows) -> list[int]:
    """Everything that is due, marked as sent batch by batch."""
    ids: list[int] = []
    while rows := due.read(besides=[]):
        outbox_queue.mark_sent(rows, using="default")
        ids += [row.pk for row in rows]
    return ids


def tried(row: OutboxMessage, *, times: int = 1, due_in: timedelta = timedelta(0)) -> None:
    OutboxMessage.objects.filter(pk=row.pk).update(attempts=times, due_at=Now() + due_in)


def test_rows_come_in_the_order_of_their_ids_and_once(run: Run) -> None:
    rows = record_facts(12, materials=3)

    due = due_rows()

    assert read_all(due) == [row.pk for row in rows]
    assert due.read(besides=[]) == []


def test_what_is_being_sent_is_left_out(run: Run) -> None:
    first, second, third = record_facts(3)

    read = due_rows().read(besides=[first.pk, third.pk])

    assert [row.pk for row in read] == [second.pk]


def test_a_read_row_needs_no_further_question_to_be_sent(run: Run) -> None:
    record_facts(2)
    (row, _) = due_rows().read(besides=[])

    with connection.execute_wrapper(_refuse):
        assert (row.type, row.attempts, row.last_error) == ("material.published", 0, "")
        assert (row.revision, bytes(row.header_table), row.consumer) == (1, b"", "")
        assert row.created_at is not None


def test_a_batch_holds_only_so_many_bytes_but_always_one_row(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_queue, "MAX_BATCH_BYTES", 1000)
    sizes = [100, 5000, 400, 400, 400, 5000, 100]
    rows = [record_row(body=b"x" * size) for size in sizes]
    due, batches = due_rows(), []

    while batch := due.read(besides=[]):
        outbox_queue.mark_sent(batch, using="default")
        batches.append([len(bytes(row.body)) for row in batch])

    assert batches == [[100, 5000], [400, 400, 400], [5000], [100]]
    assert sum(map(len, batches)) == len(rows)


def test_a_lower_id_that_is_committed_after_a_higher_one_is_read(run: Run) -> None:
    inserted, committed = threading.Event(), threading.Event()
    if connection.vendor == "sqlite":
        pytest.skip("SQLite hands an id out and commits it in one step: one writer at a time")

    def slow_writer() -> None:
        with transaction.atomic():
            outbox.record(facts.published("slow"))
            inserted.set()
            committed.wait(10)
        connections.close_all()

    writer = threading.Thread(target=slow_writer)
    writer.start()
    inserted.wait(10)
    (fast,) = record(facts.published("fast"))
    due = due_rows()

    before = read_all(due)
    committed.set()
    writer.join()
    after = read_all(due)

    assert before == [fast.pk]
    assert len(after) == 1
    assert after[0] < fast.pk


def test_a_lower_id_that_appears_after_a_higher_one_was_sent_is_read(run: Run) -> None:
    record_row(id=20)
    due = due_rows()
    before = read_all(due)

    record_row(id=10)

    assert (before, read_all(due)) == ([20], [10])


def test_while_more_is_due_a_late_commit_waits_a_second_at_most(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_queue, "BATCH_LIMIT", 2)
    first, *_ = record_facts(7)
    OutboxMessage.objects.filter(pk=first.pk).update(state="failed")  # not there yet
    due = due_rows()
    due.read(besides=[])

    OutboxMessage.objects.filter(pk=first.pk).update(state="pending")
    within_a_second = due.read(besides=[])
    monkeypatch.setattr(due, "_floor_until", 0.0)
    afterwards = due.read(besides=[])

    assert first.pk not in [row.pk for row in within_a_second]
    assert first.pk in [row.pk for row in afterwards]


def test_after_a_start_over_the_oldest_come_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_queue, "BATCH_LIMIT", 2)
    rows = record_facts(4)
    due = due_rows()
    due.read(besides=[])

    due.start_over()

    assert [row.pk for row in due.read(besides=[])] == [row.pk for row in rows[:2]]


@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(hours=1)], ids=str)
def test_a_row_written_by_a_clock_that_is_wrong_is_due_at_once_and_in_order(
    run: Run, skew: timedelta
) -> None:
    first, second, third = record_facts(3)
    OutboxMessage.objects.filter(pk=second.pk).update(created_at=Now() + skew, due_at=Now() + skew)

    assert read_all(due_rows()) == [first.pk, second.pk, third.pk]


def test_a_row_that_was_tried_waits_for_its_delay(run: Run) -> None:
    soon, now, late = record_facts(3)
    tried(soon, due_in=timedelta(seconds=20))
    tried(now)

    read = read_all(due_rows())

    assert sorted(read) == [now.pk, late.pk]


def test_a_delay_that_no_relay_gives_means_that_the_clock_was_set_back(run: Run) -> None:
    (row,) = record_facts(1)
    tried(row, due_in=timedelta(hours=1))

    assert read_all(due_rows()) == [row.pk]


def test_many_rows_that_were_tried_do_not_hold_up_those_that_were_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_queue, "BATCH_LIMIT", 2)
    failing = record_facts(6)
    for row in failing:
        tried(row)
    good = record_facts(3, prefix="good")
    due, batches = due_rows(), []

    for _ in range(3):
        batches.append([row.pk for row in due.read(besides=[])])

    assert batches == [
        [row.pk for row in failing[:2]],
        [row.pk for row in good[:2]],
        [good[2].pk],
    ]


@pytest.mark.parametrize(
    ("tries_before", "delay_seconds"), [(0, 1), (1, 2), (4, 16), (5, 30), (40_000, 30)]
)
def test_each_try_makes_the_pause_longer_up_to_half_a_minute(
    run: Run, tries_before: int, delay_seconds: int
) -> None:
    (row,) = record_facts(1)

    outbox_queue.defer(
        [row], tries_before=tries_before, error="x" * 600, park=False, using="default"
    )

    before = OutboxMessage.objects.filter(due_at__gt=Now() + timedelta(seconds=delay_seconds - 1))
    after = OutboxMessage.objects.filter(due_at__lte=Now() + timedelta(seconds=delay_seconds))
    assert before.get() == after.get() == row
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("pending", min(tries_before + 1, 32_767))
    assert row.last_error == "x" * 500


def test_a_parked_row_is_not_due_until_it_is_retried(run: Run) -> None:
    parked, other = record_facts(2)
    outbox_queue.defer([parked], tries_before=7, error="no way", park=True, using="default")
    due = due_rows()
    before = read_all(due)

    count = outbox_queue.retry_failed(using="default")

    assert (before, count) == ([other.pk], 1)
    assert read_all(due) == [parked.pk]
    parked.refresh_from_db()
    assert (parked.attempts, parked.last_error) == (0, "")


@pytest.mark.parametrize(
    "mark",
    [
        lambda row: outbox_queue.mark_sent([row], using="default"),
        lambda row: outbox_queue.defer(
            [row], tries_before=0, error="late", park=True, using="default"
        ),
    ],
    ids=["sent", "parked"],
)
def test_a_relay_that_wakes_late_changes_no_row_that_is_settled(
    run: Run, mark: Callable[[OutboxMessage], None]
) -> None:
    (row,) = record_facts(1)
    OutboxMessage.objects.update(state="failed", attempts=8, last_error="no way")

    mark(row)

    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("failed", 8, "no way")


def test_whether_anything_is_due_is_known_without_reading_it(run: Run) -> None:
    due = due_rows()
    nothing = due.any()
    (row,) = record_facts(1)
    something = due.any()
    tried(row, due_in=timedelta(seconds=20))
    later = due.any()

    assert (nothing, something, later) == (False, True, False)


def _refuse(*_: object) -> None:
    raise AssertionError("a question to the database")
