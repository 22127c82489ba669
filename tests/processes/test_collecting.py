"""Dead queues into the database: exact, once, whatever is repeated."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pika
import psycopg
import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable, ProgramLimitExceeded
from pytest_django import Settings

from messaging.broker.field_table import LongString, Timestamp, decode_table
from messaging.broker.wire import Delivery
from messaging.letters.arrivals import Arrival, read_arrival
from messaging.letters.intake import take_in
from messaging.models import DeadLetter, Death
from tests.environment import PROJECT, clean_environment
from tests.eventually import eventually
from tests.messaging.at_once import at_once
from tests.messaging.facts import published
from tests.processes.collecting import bury, bury_event, collect_once, collecting, letter_of
from tests.processes.command import manage
from tests.processes.harness import Run
from tests.processes.queues import Queues

A_SECOND = 1_764_500_000


def test_a_letter_holds_the_exact_bytes_and_says_what_they_are(run: Run, queues: Queues) -> None:
    event = published("article-107", 3)
    bury_event(queues, "catalog", event, died_at=A_SECOND)

    assert collect_once() == 0

    letter = letter_of(event)
    assert bytes(letter.body) == event.body
    assert (letter.consumer, letter.state) == ("catalog", "open")
    assert (letter.type, letter.material_id, letter.revision) == (event.type, "article-107", 3)
    assert (letter.reason, letter.attempt) == ("SimulatedTransientError", 3)
    assert letter.died_at.timestamp() == letter.first_died_at.timestamp() == A_SECOND
    assert (letter.copies, letter.deaths, letter.body_size) == (1, 1, len(event.body))
    assert queues.ready("catalog") == {}


def test_every_property_and_every_kind_of_header_is_kept(run: Run, queues: Queues) -> None:
    headers: dict[Any, Any] = {
        "bytes": b"\x00\xff",
        "string": LongString(b"\xff"),
        "time": Timestamp(2**63),
        "decimal": Decimal("1.50"),
        "float": 2.5,
        "nested": {"deeper": [1, {"deepest": b"\x00"}, None, True]},
        b"\xfe": "a key that is no text",
        "nul": "a\0b",
    }
    properties: dict[str, Any] = {
        "content_type": "text/odd",
        "content_encoding": "gzip",
        "correlation_id": "c",
        "reply_to": "r",
        "expiration": "100000",
        "message_id": "m-1",
        "type": "t",
        "app_id": "somebody",
        "priority": 3,
        "user_id": "guest",
    }
    bury(queues, "audit", b"not json", headers=headers, died_at=A_SECOND, **properties)

    collect_once()

    letter = DeadLetter.objects.get()
    own = {"attempt": 0, "reason": "MalformedEvent", "consumer": "audit"}
    kept, _ = decode_table(bytes(letter.header_table), 0)
    assert kept == headers | own
    assert repr(kept) == repr(headers | own)
    assert letter.headers["bytes"] == {"base64": "AP8="}
    assert letter.headers["decimal"] == "1.50"
    assert letter.headers["nested"] == {"deeper": [1, {"deepest": {"base64": "AA=="}}, None, True]}
    assert letter.properties == properties | {"delivery_mode": 2, "timestamp": A_SECOND}
    assert letter.error.startswith("not JSON")
    json.dumps(letter.headers, allow_nan=False)


def test_copies_of_one_letter_are_one_record_with_a_count(run: Run, queues: Queues) -> None:
    event = published()
    for second in (0, 0, 7):
        bury_event(queues, "catalog", event, died_at=A_SECOND + second)
    bury_event(queues, "audit", event)

    collect_once()

    assert DeadLetter.objects.count() == 2
    letter = letter_of(event)
    assert (letter.copies, letter.deaths, letter.state) == (3, 1, "open")
    assert letter.died_at.timestamp() == A_SECOND + 7
    assert letter.first_died_at.timestamp() == A_SECOND
    assert Death.objects.filter(letter=letter).count() == 2


@pytest.mark.parametrize("reason", [None, "", "x" * 300, " \0\r\n"])
def test_a_missing_or_odd_reason_is_no_hindrance(
    run: Run, queues: Queues, reason: str | None
) -> None:
    bury(queues, "catalog", b"", reason=reason, attempt=None)

    assert collect_once() == 0

    letter = DeadLetter.objects.get()
    assert letter.reason == ("x" * 100 if reason == "x" * 300 else letter.reason)
    assert letter.reason
    assert (letter.attempt, letter.event_id, bytes(letter.body)) == (None, None, b"")


def test_an_idle_collector_takes_what_comes_and_ends_in_time(run: Run, queues: Queues) -> None:
    event = published()
    command = run("collect_dead_letters")
    command.wait_for("collecting")

    bury_event(queues, "catalog", event)
    command.wait_for("collected")

    assert command.terminate() == 0
    record = next(record for record in command.log if record["event"] == "collected")
    assert (record["consumer"], record["eventId"]) == ("catalog", event.event_id)
    assert (record["materialId"], record["revision"]) == ("article-107", 1)
    assert (record["attempt"], record["reason"]) == (3, "SimulatedTransientError")
    assert "A title" not in command.stderr


def test_two_collectors_at_once_keep_each_letter_once(run: Run, queues: Queues) -> None:
    for number in range(120):
        for consumer in ("catalog", "audit"):
            bury(queues, consumer, b"letter %d" % (number % 40))

    codes = at_once(collect_once, times=3)

    assert codes == [0, 0, 0]
    assert DeadLetter.objects.count() == 80
    assert {letter.copies for letter in DeadLetter.objects.all()} == {3}
    assert not Death.objects.exclude(letter__state="open").exists()


def read_but_for_poison(delivery: Delivery, **context: Any) -> Arrival:
    if delivery.body.startswith(b"poison"):
        raise ZeroDivisionError("a defect")
    return read_arrival(delivery, **context)


def take_in_but_for_poison(arrivals: Sequence[Arrival], **context: Any) -> None:
    if any(arrival.body.startswith(b"poison") for arrival in arrivals):
        raise OperationalError("too large for an index") from ProgramLimitExceeded("54000")
    take_in(arrivals, **context)


@pytest.mark.parametrize(
    ("patched", "by"),
    [("read_arrival", read_but_for_poison), ("take_in", take_in_but_for_poison)],
    ids=["a defect of ours", "refused by the database each time"],
)
def test_a_letter_that_cannot_be_stored_holds_up_no_other_and_is_not_lost(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch, patched: str, by: Any
) -> None:
    for body in (b"one", b"poison", b"two"):
        bury(queues, "catalog", body)
    monkeypatch.setattr(f"messaging.letters.collector.{patched}", by)
    monkeypatch.setattr("messaging.letters.collector.TRANSIENT_TRIES", 2)

    assert collect_once() == 1

    assert sorted(bytes(letter.body) for letter in DeadLetter.objects.all()) == [b"one", b"two"]
    queues.await_ready("catalog", dead=1)
    monkeypatch.undo()
    assert collect_once() == 0
    assert DeadLetter.objects.count() == 3


def test_a_letter_that_could_not_be_stored_is_tried_again_without_a_new_start(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.letters.collector.REOFFER_SECONDS", 0.2)
    bury(queues, "catalog", b"poison")
    refused = threading.Event()
    mended = threading.Event()

    def read(delivery: Delivery, **context: Any) -> Arrival:
        if mended.is_set():
            return read_arrival(delivery, **context)
        refused.set()
        return read_but_for_poison(delivery, **context)

    monkeypatch.setattr("messaging.letters.collector.read_arrival", read)

    with collecting():
        eventually(refused.is_set)
        mended.set()
        eventually(lambda: DeadLetter.objects.count() == 1, what="the letter, tried again")


def test_as_many_of_them_as_the_broker_sends_ahead_end_a_single_run_and_block_no_other_queue(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.letters.collector.PREFETCH", 4)  # two of each queue
    monkeypatch.setattr("messaging.letters.collector.REOFFER_SECONDS", 0.2)
    for body in (b"poison 1", b"poison 2", b"behind them"):
        bury(queues, "catalog", body)
    bury(queues, "audit", b"elsewhere")
    mended = threading.Event()

    def read(delivery: Delivery, **context: Any) -> Arrival:
        return (read_arrival if mended.is_set() else read_but_for_poison)(delivery, **context)

    monkeypatch.setattr("messaging.letters.collector.read_arrival", read)

    assert collect_once() == 1

    assert [bytes(letter.body) for letter in DeadLetter.objects.all()] == [b"elsewhere"]
    queues.await_ready("catalog", dead=3)
    with collecting():
        bury(queues, "audit", b"also elsewhere")
        eventually(lambda: DeadLetter.objects.count() == 2)
        mended.set()
        eventually(lambda: DeadLetter.objects.count() == 5, what="all, offered again")


def test_an_answer_to_a_commit_that_is_lost_makes_no_second_copy(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury_event(queues, "catalog", published())
    commit = BaseDatabaseWrapper._commit
    lost: list[int] = []

    def commit_and_lose_the_answer(connection: BaseDatabaseWrapper) -> None:
        commit(connection)
        if not lost:
            lost.append(1)
            raise OperationalError("gone") from psycopg.OperationalError("gone")

    monkeypatch.setattr(BaseDatabaseWrapper, "_commit", commit_and_lose_the_answer)

    assert collect_once() == 0

    letter = DeadLetter.objects.get()
    assert lost
    assert (letter.copies, letter.deaths, Death.objects.count()) == (1, 1, 1)


def test_what_goes_wrong_while_settling_does_not_hold_up_collecting(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> int:
        raise OperationalError("locked out") from LockNotAvailable("55P03")

    bury(queues, "catalog", b"one")
    monkeypatch.setattr("messaging.letters.collector.resolve_delivered", fail)
    monkeypatch.setattr("messaging.letters.collector.TRANSIENT_TRIES", 1)

    assert collect_once() == 1

    assert DeadLetter.objects.count() == 1


def test_memory_stays_bounded_however_many_letters_wait(run: Run, queues: Queues) -> None:
    letters, size = 1_500, 40_000  # 50 000 of 10 kB: bench/collect_dead_letters.py
    bury_many(queues, "catalog", letters, size)

    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *manage("collect_dead_letters", "--once")],
        env=clean_environment() | run.environment | {"SECRET_KEY": "x", "LOG_LEVEL": "WARNING"},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert DeadLetter.objects.count() == letters
    peak_bytes = int(done.stdout) * (1 if sys.platform == "darwin" else 1024)
    assert peak_bytes < 120_000_000, "an idle one has 75 MB, and the letters alone are 60"


MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def bury_many(queues: Queues, consumer: str, letters: int, size: int) -> None:
    """As fast as it goes: without waiting for a confirm of each."""
    connection = pika.BlockingConnection(pika.URLParameters(queues.wire.url))
    channel = connection.channel()
    for number in range(letters):
        body = b"%d " % number + b"x" * size
        properties = pika.BasicProperties(delivery_mode=2, headers={"attempt": 0, "reason": "X"})
        channel.basic_publish("", queues.topology.dead(consumer), body, properties)
    connection.close()
    queues.await_ready(consumer, 60, dead=letters)


def test_a_dead_queue_that_is_deleted_ends_the_collector_and_is_named(
    run: Run, queues: Queues
) -> None:
    command = run("collect_dead_letters")
    dead = queues.topology.dead("audit")
    eventually(lambda: queues.wire.consumers(dead), what="a subscription")

    queues.wire.delete_queue(dead)

    assert command.wait() == 3, command.report()
    assert f"queue {dead} was deleted" in command.stderr


def test_quorum_queues_give_their_letters_as_well(
    run: Run, settings: Settings, request: pytest.FixtureRequest
) -> None:
    settings.DELIVERY_QUEUE_TYPE = "quorum"
    queues: Queues = request.getfixturevalue("queues")
    event = published()
    bury_event(queues, "catalog", event)
    died = run.killed_at(
        "messaging.letters.intake:take_in",
        "collect_dead_letters",
        when="after",
        DELIVERY_QUEUE_TYPE="quorum",
    )
    assert died.wait() == -9, died.report()

    assert collect_once() == 0

    letter = letter_of(event)
    assert (letter.copies, letter.deaths, letter.state) == (1, 1, "open")
    assert Death.objects.count() == 1


def test_without_a_consumer_there_is_nothing_to_collect(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.registry._consumers", {})

    assert collect_once() == 0
