"""`declare_topology`: makes what is missing, changes nothing that stands, and can only look."""

import subprocess

import pytest
from pytest_django import Settings

from messaging.broker.sessions import topology
from messaging.broker.topology import Binding, Exchange, Queue, Topology
from tests.processes.harness import Run
from tests.wire import Wire

pytestmark = pytest.mark.any_database

EVERYTHING_STANDS = "all exchanges and queues stand as wanted\n"


@pytest.fixture
def wanted(run: Run, settings: Settings) -> Topology:
    """What the commands of this test declare; for that they need no database."""
    settings.DELIVERY_RETRY_DELAY_MS = int(run.environment["DELIVERY_RETRY_DELAY_MS"])
    run.environment["DATABASE_URL"] = "postgres://nobody:nothing@127.0.0.1:9/none"
    return topology()


def declare(run: Run, *options: str) -> "subprocess.CompletedProcess[str]":
    return run.manage("declare_topology", *options)


def stands(wanted: Topology, wire: Wire) -> bool:
    """Declared once more by somebody else, which the broker refuses where anything differs."""
    for step in wanted:
        match step:
            case Exchange(name, kind):
                wire.channel.exchange_declare(name, kind, durable=True)
            case Queue(name, arguments):
                wire.channel.queue_declare(name, durable=True, arguments=dict(arguments))
    return True


def test_it_declares_everything_and_a_second_time_changes_nothing(
    run: Run, wanted: Topology, wire: Wire
) -> None:
    first = declare(run)
    wire.publish(b"kept", routing_key=wanted.dead("audit"))
    second = declare(run)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert wire.ready(wanted.dead("audit")) == 1
    assert stands(wanted, wire)
    wire.publish(b"{}", exchange=wanted.events, routing_key="material.published")
    wire.publish(b"{}", exchange=wanted.resume, routing_key="audit")
    assert [wire.ready(wanted.main(name)) for name in ("audit", "catalog")] == [2, 1]


def test_a_look_tells_what_is_missing_and_makes_nothing(
    run: Run, wanted: Topology, wire: Wire
) -> None:
    before = declare(run, "--check")
    made = wire.exists(wanted.main("audit"))
    declare(run)
    complete = declare(run, "--check")

    assert (before.returncode, complete.returncode) == (1, 0), before.stderr + complete.stderr
    assert [line.partition(": 404 NOT_FOUND")[0] for line in before.stdout.splitlines()] == [
        str(step) for step in wanted if not isinstance(step, Binding)
    ]
    assert not made
    assert complete.stdout == EVERYTHING_STANDS


def test_replicated_queues_are_declared_by_a_setting(
    run: Run, wanted: Topology, settings: Settings, wire: Wire
) -> None:
    settings.DELIVERY_QUEUE_TYPE = run.environment["DELIVERY_QUEUE_TYPE"] = "quorum"

    declared, looked = declare(run), declare(run, "--check")

    assert (declared.returncode, looked.returncode) == (0, 0), declared.stderr + looked.stderr
    assert stands(topology(), wire)
