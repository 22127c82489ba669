"""The error path fails too: what no retry or dead queue takes stays unacked, loudly, and waits."""

from dataclasses import replace

import pytest

from materials.catalog.models import CatalogEntry
from messaging.models import FailedAttempt
from tests.eventually import eventually
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once, working

pytestmark = pytest.mark.any_database

BAD = b"not an event"


def applied(*material_ids: str) -> bool:
    return set(CatalogEntry.objects.values_list("material_id", flat=True)) == set(material_ids)


def refuse_everything(queues: Queues, name: str) -> None:
    """Put in the queue's place one that is full and says so."""
    queues.wire.delete_queue(name)
    step = queues.queue_steps()[name]
    full = {**step.arguments, "x-max-length": 0, "x-overflow": "reject-publish"}
    queues.declare_step(replace(step, arguments=full))


def restore(queues: Queues, name: str) -> None:
    if queues.wire.exists(name):
        queues.wire.delete_queue(name)
    queues.declare_step(queues.queue_steps()[name])
    queues.declare()


@pytest.mark.parametrize("how", ["missing", "refusing"])
def test_a_dead_queue_that_takes_nothing_loses_nothing_and_holds_nobody_back(
    run: Run, queues: Queues, how: str
) -> None:
    dead = queues.topology.dead("catalog")
    consumer = run("consume", "catalog")
    consumer.wait_for("consuming")
    if how == "missing":
        queues.wire.delete_queue(dead)
    else:
        refuse_everything(queues, dead)

    queues.give("catalog", BAD, headers={"attempt": 1})
    line = consumer.wait_for("copy not taken")
    queues.publish(published("article-1"), published("article-2"))
    eventually(lambda: applied("article-1", "article-2"))

    assert dead in line
    assert ("NO_ROUTE" in line) == (how == "missing")
    assert '"level": "error"' in line
    queues.give("catalog", BAD + b" either")
    restore(queues, dead)
    queues.await_ready("catalog", seconds=40, dead=2)
    copies = {message.body: message.headers for message in queues.dead("catalog")}
    assert copies.keys() == {BAD, BAD + b" either"}
    assert copies[BAD] == {"attempt": 1, "reason": "MalformedEvent", "consumer": "catalog"}
    assert consumer.terminate() == 0
    assert queues.ready("catalog") == {}, "acked once the copy was confirmed"


@pytest.mark.parametrize("how", ["missing", "refusing"])
def test_a_retry_queue_that_takes_nothing_loses_nothing_and_holds_nobody_back(
    run: Run, queues: Queues, how: str
) -> None:
    retry = queues.topology.retry("catalog")
    with working("catalog", simulate_temporary=frozenset({"article-107"})):
        eventually(lambda: queues.subscribers("catalog") == 1)
        if how == "missing":
            queues.wire.delete_queue(retry)
        else:
            refuse_everything(queues, retry)

        queues.publish(published("article-107"), published("article-1"))
        eventually(lambda: FailedAttempt.objects.count() == 1 and applied("article-1"))
        restore(queues, retry)

        queues.await_ready("catalog", seconds=40, dead=1)
    assert [row.attempt for row in FailedAttempt.objects.order_by("id")] == [0, 1, 2, 3]


def test_what_was_refused_comes_back_when_the_consumer_stops(run: Run, queues: Queues) -> None:
    consumer = run("consume", "catalog")
    consumer.wait_for("consuming")
    queues.wire.delete_queue(queues.topology.dead("catalog"))
    queues.give("catalog", BAD)
    consumer.wait_for("copy not taken")

    assert consumer.terminate() == 0

    restore(queues, queues.topology.dead("catalog"))
    queues.await_ready("catalog", main=1)
    consume_once("catalog")
    queues.await_ready("catalog", dead=1)


@pytest.mark.parametrize("prefetch", [1, 2, 100])
def test_once_ends_with_1_when_a_copy_is_not_taken(run: Run, queues: Queues, prefetch: int) -> None:
    refuse_everything(queues, queues.topology.dead("catalog"))
    queues.give("catalog", BAD, BAD, published("article-1").body)

    with pytest.MonkeyPatch.context() as patch:
        # Declared as it stands, or the worker would refuse to begin.
        patch.setattr("messaging.broker.topology.Topology._queues", lambda *_: iter([]))
        exit_code = consume_once("catalog", prefetch=prefetch)

    assert exit_code == 1
    assert applied(*(["article-1"] if prefetch > 2 else []))
    left = 2 if prefetch > 2 else 3
    queues.await_ready("catalog", main=left)
