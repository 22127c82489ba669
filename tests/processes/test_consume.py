"""`consume NAME` as a person starts and stops it."""

import json
import re
import signal
import time
from collections.abc import Sequence

import pytest

from materials.audit.models import AuditRecord
from materials.audit.projection import apply
from materials.catalog.models import CatalogEntry
from messaging.envelope import Event
from messaging.models import InboxReceipt
from tests.eventually import eventually, never
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once, working


def test_once_handles_what_is_there_and_ends(run: Run, queues: Queues) -> None:
    events = [published(f"article-{number}", number + 1) for number in range(300)]
    queues.publish(*events)

    done = run.manage("consume", "catalog", "--once", "--prefetch", "100")

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert CatalogEntry.objects.count() == 300
    assert queues.ready("catalog") == {}
    assert queues.ready("audit") == {"main": 300}
    records = [json.loads(line) for line in done.stderr.splitlines()]
    told = {record["eventId"]: record for record in records if "eventId" in record}
    assert len(records) == len(told) + 1
    for event in events:
        assert (
            told[event.event_id].items()
            >= {
                "consumer": "catalog",
                "materialId": event.material_id,
                "revision": event.revision,
                "attempt": 0,
                "outcome": "applied",
                "level": "info",
            }.items()
        )


@pytest.mark.any_database
def test_once_with_an_empty_queue_ends_at_once(run: Run, queues: Queues) -> None:
    assert consume_once("audit") == 0


class Noting:
    """Audit's own handler, which notes the bytes of each batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, events: Sequence[Event], using: str) -> set[str]:
        self.batches.append([len(event.body) for event in events])
        return apply(events, using)


def test_a_prefetch_of_one_is_strictly_one_after_another(run: Run, queues: Queues) -> None:
    noting = Noting()
    queues.publish(*[published(revision=number) for number in range(1, 8)])

    consume_once("audit", prefetch=1, apply=noting)

    assert [len(batch) for batch in noting.batches] == [1] * 7
    rows = AuditRecord.objects.order_by("id")
    assert list(rows.values_list("revision", flat=True)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.any_database
def test_large_bodies_do_not_all_share_one_transaction(run: Run, queues: Queues) -> None:
    noting = Noting()
    queues.publish(*[published(revision=n, note="x" * 200_000) for n in range(1, 61)])

    consume_once("audit", apply=noting)

    assert AuditRecord.objects.count() == 60
    assert max(sum(batch) for batch in noting.batches) < 5 * 1024 * 1024


@pytest.mark.any_database
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "audit"),
        ((), "NAME"),
        (("catalog", "--prefetch", "0"), "1 to 65535"),
        (("catalog", "--prefetch", "65536"), "1 to 65535"),
    ],
)
def test_wrong_use_is_told_and_ends_with_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run.manage("consume", *arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.any_database
def test_help_explains_the_options(run: Run) -> None:
    done = run.manage("consume", "--help")

    assert done.returncode == 0
    assert all(word in done.stdout for word in ("NAME", "audit", "catalog", "--once", "--prefetch"))


def test_two_names_each_apply_an_event_once(run: Run, queues: Queues) -> None:
    event = published()
    queues.publish(event)

    with working("catalog"), working("audit"):
        # What has left its queue may still be in hand.
        eventually(lambda: InboxReceipt.objects.count() == 2)

    consumers = InboxReceipt.objects.values_list("consumer", flat=True)
    assert sorted(consumers) == ["audit", "catalog"]
    assert CatalogEntry.objects.count() == AuditRecord.objects.count() == 1


@pytest.mark.any_database
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_consumer_stops_at_once(run: Run, queues: Queues, number: signal.Signals) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")

    began = time.monotonic()
    consumer.send(number)

    assert consumer.wait(5) == 0, consumer.report()
    assert time.monotonic() - began < 3
    assert "Traceback" not in consumer.stderr


def test_a_stop_lets_the_work_in_hand_finish_and_returns_the_rest(run: Run, queues: Queues) -> None:
    queues.publish(*[published(f"article-{number}") for number in range(12)])
    consumer = run.with_handler("sleeping:2", "consume", "catalog", "--prefetch", "10")
    in_hand = int(re.findall(r"at work on (\d+)", consumer.wait_for("at work on"))[0])

    began = time.monotonic()
    assert consumer.terminate() == 0, consumer.report()

    assert time.monotonic() - began < 5
    assert CatalogEntry.objects.count() == in_hand
    queues.await_ready("catalog", main=12 - in_hand)
    assert consumer.stdout.count("at work on") == 1
    consume_once("catalog")
    assert CatalogEntry.objects.count() == 12
    assert set(InboxReceipt.objects.values_list("duplicates", flat=True)) == {0}


def test_a_stop_does_not_wait_until_a_batch_of_costly_bodies_is_read(
    run: Run, queues: Queues
) -> None:
    costly = b'{"data": [' + b"{}," * 80_000 + b"{}]}"
    queues.give("catalog", *[costly] * 16)  # together they take seconds to read
    consumer = run("consume", "catalog")
    eventually(lambda: queues.ready("catalog").keys() == {"dead"})  # the first; the rest is in hand

    assert consumer.terminate() == 0, consumer.report()

    assert "abandoned" not in consumer.stderr
    eventually(lambda: sum(queues.ready("catalog").values()) == 16)
    assert queues.ready("catalog")["main"] >= 3, "what is not begun comes back"


def test_a_handler_that_does_not_finish_is_abandoned_within_five_seconds(
    run: Run, queues: Queues
) -> None:
    queues.publish(published())
    consumer = run.with_handler("sleeping:20", "consume", "catalog")
    consumer.wait_for("at work on")

    began = time.monotonic()
    assert consumer.terminate() == 0, consumer.report()

    assert time.monotonic() - began < 5
    consumer.wait_for("abandoned")
    assert CatalogEntry.objects.count() == 0
    queues.await_ready("catalog", main=1)
    consume_once("catalog")
    assert CatalogEntry.objects.count() == 1


@pytest.mark.any_database
def test_a_second_signal_ends_at_once_and_acks_nothing(run: Run, queues: Queues) -> None:
    queues.publish(published())
    consumer = run.with_handler("sleeping:20", "consume", "catalog")
    consumer.wait_for("at work on")
    consumer.send(signal.SIGTERM)
    never(lambda: consumer.returncode is not None, seconds=0.5)

    consumer.send(signal.SIGTERM)

    assert consumer.wait() == 1, "0 would say that it was abandoned after its time"
    assert CatalogEntry.objects.count() == 0
    queues.await_ready("catalog", main=1)


@pytest.mark.any_database
def test_a_handler_longer_than_the_heartbeat_keeps_its_delivery(run: Run, queues: Queues) -> None:
    run.environment["AMQP_URL"] += "?heartbeat=2"
    queues.publish(published())
    consumer = run.with_handler("sleeping:6", "consume", "catalog")
    consumer.wait_for("at work on")

    consumer.wait_for('"applied"')

    never(lambda: consumer.stdout.count("at work on") > 1, seconds=0.5)
    assert consumer.terminate() == 0
    assert queues.ready("catalog") == {}
    assert InboxReceipt.objects.get().duplicates == 0
    assert "broker away" not in consumer.stderr
