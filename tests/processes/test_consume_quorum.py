"""With quorum queues: the same ladder, and no delivery limit that could drop a message."""

import pytest
from pytest_django import Settings

from materials.audit.models import AuditRecord
from messaging.models import FailedAttempt
from tests.eventually import eventually
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues, attempt_of
from tests.processes.working import consume_once, working
from tests.wire import Wire

pytestmark = pytest.mark.any_database

MORE_THAN_THE_BROKER_S_DEFAULT_LIMIT = 30


@pytest.fixture
def quorum(run: Run, settings: Settings) -> None:
    """Before the queues are declared."""
    settings.DELIVERY_QUEUE_TYPE = "quorum"
    run.environment["DELIVERY_QUEUE_TYPE"] = "quorum"


def test_the_ladder_of_retries_ends_in_the_dead_queue(
    run: Run, quorum: None, queues: Queues
) -> None:
    event, other = published("article-107"), published("article-108")
    back = queues.wire.bound_queue(queues.topology.resume, "audit")
    consumer = run("consume", "audit", SIMULATE_TEMPORARY="article-107")
    consumer.wait_for("consuming")

    queues.publish(event, other)

    queues.await_ready("audit", seconds=40, dead=1)
    assert [attempt_of(message) for message in queues.wire.drain(back)] == [1, 2, 3]
    (dead,) = queues.dead("audit")
    assert (dead.body, attempt_of(dead)) == (event.body, 3)
    assert [row.attempt for row in FailedAttempt.objects.order_by("id")] == [0, 1, 2, 3]
    assert AuditRecord.objects.get().material_id == "article-108"
    assert consumer.terminate() == 0


def test_a_message_may_come_back_unacked_as_often_as_it_likes(
    run: Run, quorum: None, queues: Queues
) -> None:
    event = published()
    queues.give("audit", event.body)

    for _ in range(MORE_THAN_THE_BROKER_S_DEFAULT_LIMIT):
        lost = Wire(queues.wire.url)
        eventually(
            lambda wire=lost: wire.channel.basic_get(queues.topology.main("audit"))[0] is not None
        )
        lost.close()

    eventually(lambda: queues.ready("audit") == {"main": 1})
    consume_once("audit")
    assert AuditRecord.objects.get().envelope.encode() == event.body


def test_a_retry_survives_while_its_consumer_is_away(
    run: Run, quorum: None, queues: Queues
) -> None:
    queues.publish(published("article-107"))

    consume_once("audit", simulate_temporary=frozenset({"article-107"}))

    queues.await_ready("audit", main=1)
    with working("audit"):
        eventually(lambda: AuditRecord.objects.count() == 1)
        queues.await_ready("audit")
