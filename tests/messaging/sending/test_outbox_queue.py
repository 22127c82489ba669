"""What the relay reads from the outbox, and when."""

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now

from messaging import outbox
from messaging.models import OutboxMessage
from messaging.sending import due_rows, outbox_queue, relay_connection
from messaging.sending.due_rows import DueRows
from messaging.sending.rows import OutboxRow
from tests.messaging import facts
from tests.processes.harness import Run
from tests.processes.relaying import record, record_facts, record_many, record_row


def reader() -> DueRows:
    return DueRows(using="default")


def mark_sent(rows: Iterable[OutboxRow | OutboxMessage], using: str = "default") -> None:
    outbox_queue.mark_sent([row.pk for row in rows], using=using)


def read_all(due: DueRows) -> list[int]:
    """Everything that is due, marked as sent batch by batch."""
    ids: list[int] = []
    while rows := due.read(besides=[]):
        mark_sent(rows, using="default")
        ids += [row.pk for row in rows]
    return ids


def tried(row: OutboxMessage, *, times: int = 1, due_in: timedelta = timedelta(0)) -> None:
    OutboxMessage.objects.filter(pk=row.pk).update(attempts=times, due_at=Now() + due_in)


def test_rows_come_in_the_order_of_their_ids_and_once(run: Run) -> None:
    rows = record_facts(12, materials=3)

    due = reader()

    assert read_all(due) == [row.pk for row in rows]
    assert due.read(besides=[]) == []


def test_what_is_being_sent_is_left_out(run: Run) -> None:
    first, second, third = record_facts(3)

    read = reader().read(besides=[first.pk, third.pk])

    assert [row.pk for row in read] == [second.pk]


def test_a_read_row_needs_no_further_question_to_be_sent(run: Run) -> None:
    record_facts(2)
    (row, _) = reader().read(besides=[])

    with connection.execute_wrapper(_refuse):
        assert (row.type, row.attempts, row.last_error) == ("material.published", 0, "")
        assert (row.revision, bytes(row.header_table), row.consumer) == (1, b"", "")
        assert row.created_at is not None


def test_a_batch_holds_only_so_many_bytes_but_always_one_row(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "MAX_BATCH_BYTES", 1000)
    sizes = [100, 5000, 400, 400, 400, 5000, 100]
    rows = [record_row(body=b"x" * size) for size in sizes]
    due, batches = reader(), []

    while batch := due.read(besides=[]):
        mark_sent(batch, using="default")
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
    due = reader()

    before = read_all(due)
    committed.set()
    writer.join()
    after = read_all(due)

    assert before == [fast.pk]
    assert len(after) == 1
    assert after[0] < fast.pk


def test_a_lower_id_that_appears_after_a_higher_one_was_sent_is_read(run: Run) -> None:
    record_row(id=20)
    due = reader()
    before = read_all(due)

    record_row(id=10)

    assert (before, read_all(due)) == ([20], [10])


def test_while_more_is_due_a_late_commit_waits_a_second_at_most(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 2)
    first, *_ = record_facts(7, materials=7)
    OutboxMessage.objects.filter(pk=first.pk).update(state="failed")  # not there yet
    due = reader()
    due.read(besides=[])

    OutboxMessage.objects.filter(pk=first.pk).update(state="pending")
    within_a_second = due.read(besides=[])
    monkeypatch.setattr(due, "_floors_until", 0.0)
    afterwards = due.read(besides=[])

    assert first.pk not in [row.pk for row in within_a_second]
    assert first.pk in [row.pk for row in afterwards]


def test_after_a_start_over_the_oldest_come_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 2)
    rows = record_facts(4)
    due = reader()
    due.read(besides=[])

    due.start_over()

    assert [row.pk for row in due.read(besides=[])] == [row.pk for row in rows[:2]]


@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(hours=1)], ids=str)
def test_a_row_written_by_a_clock_that_is_wrong_is_due_at_once_and_in_order(
    run: Run, skew: timedelta
) -> None:
    first, second, third = record_facts(3)
    OutboxMessage.objects.filter(pk=second.pk).update(created_at=Now() + skew, due_at=Now() + skew)

    assert read_all(reader()) == [first.pk, second.pk, third.pk]


def test_a_row_that_was_tried_waits_for_its_delay(run: Run) -> None:
    soon, now, late = record_facts(3)
    tried(soon, due_in=timedelta(seconds=20))
    tried(now)

    read = read_all(reader())

    assert sorted(read) == [now.pk, late.pk]


def test_a_delay_that_no_relay_gives_means_that_the_clock_was_set_back(run: Run) -> None:
    (row,) = record_facts(1)
    tried(row, due_in=timedelta(hours=1))

    assert read_all(reader()) == [row.pk]


def test_many_rows_that_were_tried_do_not_hold_up_those_that_were_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 2)
    failing = record_facts(6)
    for row in failing:
        tried(row)
    good = record_facts(3, materials=3, prefix="good")
    due, batches = reader(), []

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
        [row.pk], tries_before=tries_before, error="x" * 600, park=False, using="default"
    )

    before = OutboxMessage.objects.filter(due_at__gt=Now() + timedelta(seconds=delay_seconds - 1))
    after = OutboxMessage.objects.filter(due_at__lte=Now() + timedelta(seconds=delay_seconds))
    assert before.get() == after.get() == row
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("pending", min(tries_before + 1, 32_767))
    assert row.last_error == "x" * 500


def test_a_parked_row_is_not_due_until_it_is_retried(run: Run) -> None:
    parked, other = record_facts(2)
    outbox_queue.defer([parked.pk], tries_before=7, error="no way", park=True, using="default")
    due = reader()
    before = read_all(due)

    count = outbox_queue.retry_failed(OutboxMessage.objects.failed())

    assert (before, count) == ([other.pk], 1)
    assert read_all(due) == [parked.pk]
    parked.refresh_from_db()
    assert (parked.attempts, parked.last_error) == (0, "")


@pytest.mark.parametrize(
    "mark",
    [
        lambda row: mark_sent([row], using="default"),
        lambda row: outbox_queue.defer(
            [row.pk], tries_before=0, error="late", park=True, using="default"
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
    due = reader()
    nothing = due.any()
    (row,) = record_facts(1)
    something = due.any()
    tried(row, due_in=timedelta(seconds=20))
    later = due.any()

    assert (nothing, something, later) == (False, True, False)


def test_what_somebody_waits_for_goes_before_what_is_bulk_which_has_its_share(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 5)
    bulk = record_facts(8, prefix="import", materials=8, bulk=True)
    urgent = record_facts(6, prefix="editor", materials=6)
    due, batches = reader(), []

    while batch := due.read(besides=[]):
        mark_sent(batch, using="default")
        batches.append([row.pk for row in batch])

    assert batches == [
        [bulk[0].pk, *(row.pk for row in urgent[:4])],
        [*(row.pk for row in bulk[1:4]), urgent[4].pk, urgent[5].pk],
        [row.pk for row in bulk[4:]],
    ]


def test_bulk_is_held_back_on_request_and_known_to_wait(run: Run) -> None:
    record_facts(3, prefix="import", bulk=True)
    (fact,) = record_facts(1, prefix="editor")
    due = reader()

    read = due.read(besides=[], bulk_limit=0)

    assert [row.pk for row in read] == [fact.pk]
    assert due.bulk_waits
    assert len(due.read(besides=[], bulk_limit=2)) == 3


def test_earlier_facts_of_a_material_come_forward_with_the_one_that_is_waited_for(
    run: Run,
) -> None:
    record_facts(3, prefix="others", materials=3, bulk=True)
    earlier = record(facts.published("hot", 1), facts.published("hot", 2), bulk=True)
    (later,) = record(facts.published("hot", 3))

    read = reader().read(besides=[], bulk_limit=0)

    assert [row.pk for row in read] == [row.pk for row in [*earlier, later]]


def test_where_more_comes_before_it_than_a_batch_holds_a_fact_waits_and_others_do_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 4)
    hot = record(*(facts.published("hot", number) for number in range(1, 7)), bulk=True)
    hot += record(facts.published("hot", 7))
    (other,) = record_facts(1, prefix="other")
    due = reader()

    first = due.read(besides=[], bulk_limit=0)
    mark_sent(first, using="default")
    second = due.read(besides=[], bulk_limit=0)

    assert [row.pk for row in first] == [*(row.pk for row in hot[:4]), other.pk]
    assert [row.pk for row in second] == [row.pk for row in hot[4:]]


def test_a_fact_below_the_floor_goes_before_the_next_of_its_material(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite hands an id out and commits it in one step: one writer at a time")
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 2)
    (late,) = record(facts.published("slow", 1))
    OutboxMessage.objects.update(state="failed")  # not committed yet
    record_facts(4, materials=4)
    due = reader()
    due.read(besides=[])  # the floor is now above
    OutboxMessage.objects.filter(pk=late.pk).update(state="pending")
    OutboxMessage.objects.filter(material_id__startswith="article").update(state="sent")
    (next_one,) = record(facts.published("slow", 2))

    assert [row.pk for row in due.read(besides=[])] == [late.pk, next_one.pk]


def test_the_relay_s_marks_alone_do_not_wait_for_the_disk(run: Run) -> None:
    ask, waits, goes_on, afterwards = {
        "postgresql": ("SHOW synchronous_commit", "on", "off", "on"),
        "sqlite": ("PRAGMA synchronous", 2, 1, 1),  # FULL, NORMAL
    }[connection.vendor]
    connection.close()
    with connection.cursor() as cursor:
        found = [cursor.execute(ask).fetchone()[0]]
        relay_connection.prepare(connection)
        with transaction.atomic():
            relay_connection.wait_for_no_disk(using="default")
            found.append(cursor.execute(ask).fetchone()[0])
        found.append(cursor.execute(ask).fetchone()[0])
    connection.close()

    assert found == [waits, goes_on, afterwards]


def test_a_backlog_of_which_statistics_know_nothing_is_not_gone_through_for_each_batch(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite plans without statistics")
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 10)
    record_many(3000)
    relay_connection.prepare(connection)
    due = reader()
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        first = due.read(besides=[])
        mark_sent(first)
        due.read(besides=[])

    seen: dict[str, int] = {}
    with connection.cursor() as cursor:
        for sql, params in asked:
            if sql.lstrip().startswith(("SELECT", "UPDATE", "WITH")):
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                seen[sql] = _most_rows(cursor.fetchone()[0][0]["Plan"])
    assert len(seen) >= 3
    assert max(seen.values()) <= 10 * len(first), seen


def _most_rows(plan: dict[str, Any]) -> int:
    """Of any step: what it gave and what it had looked at in vain."""
    rows = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return max([rows, *(_most_rows(each) for each in plan.get("Plans", []))])


def test_in_whatever_lanes_and_portions_every_row_comes_once_and_a_material_in_order(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_rows, "BATCH_LIMIT", 5)
    chance = random.Random(random.random())  # pytest-randomly tells its seed
    due, under_way, came = reader(), list[list[OutboxMessage]](), list[OutboxMessage]()
    last: dict[str, int] = defaultdict(int)
    due_count = 0

    for turn in range(120):
        if turn < 60:
            name = f"m-{chance.randrange(4)}"
            for _ in range(chance.randrange(4)):
                last[name] += 1
                record(facts.published(name, last[name]), bulk=chance.random() < 0.6)
                due_count += 1
        besides = [row.pk for batch in under_way for row in batch]
        limit = chance.choice([0, 1, 5, None]) if turn < 60 else None
        if batch := due.read(besides=besides, bulk_limit=limit):
            came += batch
            under_way.append(batch)
        if len(under_way) > 2 or (under_way and not batch):
            mark_sent(under_way.pop(0), using="default")

    assert len(came) == len({row.pk for row in came}) == due_count
    for name, count in last.items():
        assert [row.revision for row in came if row.material_id == name] == [*range(1, count + 1)]


def _refuse(*_: object) -> None:
    raise AssertionError("a question to the database")
