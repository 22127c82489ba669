"""`declare_topology`: makes what is missing, changes nothing that stands, and can only look."""

import pytest
from pytest_django import Settings

from dev.rabbitmq import RabbitNode
from messaging.broker.sessions import topology
from messaging.broker.topology import Binding, Exchange, Queue, Topology
from tests.processes.harness import Run
from tests.wire import Wire


@pytest.fixture
def wanted(run: Run, settings: Settings) -> Topology:
    """What the commands of this test declare."""
    settings.DELIVERY_RETRY_DELAY_MS = int(run.environment["DELIVERY_RETRY_DELAY_MS"])
    return topology()


@pytest.fixture(params=["classic", "quorum"])
def of_type(request: pytest.FixtureRequest, run: Run, settings: Settings) -> Topology:
    settings.DELIVERY_RETRY_DELAY_MS = int(run.environment["DELIVERY_RETRY_DELAY_MS"])
    settings.DELIVERY_QUEUE_TYPE = request.param
    run.environment["DELIVERY_QUEUE_TYPE"] = request.param
    return topology()


def names(wanted: Topology) -> list[str]:
    return [step.name for step in wanted if isinstance(step, Queue)]


def test_it_declares_everything_once_and_again_and_then_nothing_differs(
    run: Run, of_type: Topology, broker: RabbitNode, wire: Wire
) -> None:
    before = run.manage("declare_topology", "--check")
    first = run.manage("declare_topology")
    wire.publish(b"kept", routing_key=of_type.dead("audit"))
    again = run.manage("declare_topology")
    after = run.manage("declare_topology", "--check")

    assert (before.returncode, first.returncode, again.returncode, after.returncode) == (1, 0, 0, 0)
    assert [line.partition(": 404")[0] for line in before.stdout.splitlines()] == [
        str(step) for step in of_type if not isinstance(step, Binding)
    ]
    assert after.stdout == "all exchanges and queues stand as wanted\n"
    assert wire.ready(of_type.dead("audit")) == 1
    for step in of_type:
        # Refused unless it stands exactly so.
        match step:
            case Exchange(name, kind):
                wire.channel.exchange_declare(name, kind, durable=True)
            case Queue(name, arguments):
                wire.channel.queue_declare(name, durable=True, arguments=dict(arguments))
    wire.publish(b"{}", exchange=of_type.events, routing_key="material.published")
    wire.publish(b"{}", exchange=of_type.resume, routing_key="audit")
    assert [wire.ready(of_type.main(name)) for name in ("audit", "catalog")] == [2, 1]


def test_a_look_needs_no_database_and_tells_what_is_missing(
    run: Run, wanted: Topology, wire: Wire
) -> None:
    nowhere = {"DATABASE_URL": "postgres://nobody:nothing@127.0.0.1:9/none"}
    declared = run.manage("declare_topology", **nowhere)
    wire.delete_queue(wanted.dead("catalog"))

    looked = run.manage("declare_topology", "--check", **nowhere)

    assert (declared.returncode, looked.returncode) == (0, 1)
    (line,) = looked.stdout.splitlines()
    assert line.startswith(f"queue {wanted.dead('catalog')}: 404 NOT_FOUND")
    assert not wire.exists(wanted.dead("catalog"))
