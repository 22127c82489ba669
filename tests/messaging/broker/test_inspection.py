"""Looking at the broker: what stands there, without a change to it."""

import os
import socket
import threading
import time
from dataclasses import replace

import pytest
from pytest_django import Settings

from dev.free_ports import LOOPBACK, free_port
from dev.rabbitmq import RabbitNode
from messaging.broker.inspection import QueueDepth, differences, inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import BrokerUnavailable, ConfigurationError
from messaging.running.process import Lifetime
from tests.eventually import eventually
from tests.messaging.sessions import a_session
from tests.wire import Wire

pytestmark = pytest.mark.any_database

LIMIT_SECONDS = 20


@pytest.fixture
def declared(namespace: str) -> None:
    with a_session():
        pass


def found(settings: Settings) -> list[str]:
    return [str(each) for each in differences(settings.AMQP, topology(), timeout_seconds=20)]


def test_a_queue_tells_its_messages_and_consumers(
    declared: None, settings: Settings, wire: Wire
) -> None:
    names = [topology().main("catalog"), topology().dead("catalog")]
    for _ in range(3):
        wire.publish(b"{}", routing_key=names[1])

    with a_session() as session:
        session.consume(names[0], prefetch=1)
        eventually(lambda: wire.consumers(names[0]) == 1)
        depths = inspect_queues(settings.AMQP, names, timeout_seconds=LIMIT_SECONDS)

    assert depths == {names[0]: QueueDepth(0, 1), names[1]: QueueDepth(3, 0)}
    assert wire.ready(names[1]) == 3


def test_a_queue_that_is_not_there_has_no_depth_and_is_not_made(
    namespace: str, settings: Settings, wire: Wire
) -> None:
    there, missing = f"{namespace}.there", f"{namespace}.missing"
    wire.channel.queue_declare(there, exclusive=False, auto_delete=True)

    # Exactly one of the three is there; each refusal costs a channel, not the answer.
    depths = inspect_queues(
        settings.AMQP, [missing, there, f"{missing}.2"], timeout_seconds=LIMIT_SECONDS
    )

    wire.delete_queue(there)
    assert depths == {missing: None, there: QueueDepth(0, 0), f"{missing}.2": None}
    assert not wire.exists(missing)


def test_a_queue_that_stands_but_cannot_be_seen_is_not_taken_for_missing(
    namespace: str, settings: Settings, wire: Wire
) -> None:
    locked = f"{namespace}.locked"
    wire.channel.queue_declare(locked, exclusive=True)

    with pytest.raises(BrokerUnavailable, match=f"queue {locked} cannot be seen now: 405"):
        inspect_queues(settings.AMQP, [locked], timeout_seconds=LIMIT_SECONDS)


def test_no_question_asks_for_no_connection(settings: Settings) -> None:
    nobody = replace(settings.AMQP, port=9)

    assert inspect_queues(nobody, [], timeout_seconds=LIMIT_SECONDS) == {}


def test_a_complete_topology_has_no_differences(declared: None, settings: Settings) -> None:
    assert found(settings) == []


def test_everything_is_missing_before_it_is_declared_and_still_is_afterwards(
    namespace: str, settings: Settings, wire: Wire
) -> None:
    first, second = found(settings), found(settings)

    assert first == second
    assert len(first) == 2 + len(topology().queue_names())
    assert all("404 NOT_FOUND" in each for each in first)
    assert not wire.exists(topology().main("catalog"))


def test_what_is_missing_or_stands_otherwise_is_named(
    declared: None, settings: Settings, wire: Wire
) -> None:
    dead, retry = topology().dead("audit"), topology().retry("catalog")
    wire.delete_queue(dead)
    wire.delete_queue(retry)
    wire.channel.queue_declare(retry, durable=True, arguments={"x-message-ttl": 7})
    wire.delete_exchange(topology().resume)
    wire.channel.exchange_declare(topology().resume, "fanout", durable=True)

    missing, *others = found(settings)

    assert missing.startswith(f"queue {dead}: 404 NOT_FOUND")
    assert [each.partition(": 406 PRECONDITION_FAILED")[0] for each in others] == [
        f"exchange {topology().resume}",
        f"queue {retry}",
    ]
    assert "'type'" in others[0]
    assert wire.channel.queue_declare(retry, passive=True).method.queue == retry


def test_a_missing_right_is_a_fault_of_the_configuration(
    broker: RabbitNode, declared: None, settings: Settings
) -> None:
    user = f"u-{os.urandom(4).hex()}"
    broker.ctl("add_user", user, "SECRETPW")
    settings.AMQP = replace(settings.AMQP, user=user, password="SECRETPW")
    try:
        broker.ctl("set_permissions", user, "^$", ".*", ".*")

        with pytest.raises(ConfigurationError, match="403 ACCESS_REFUSED") as caught:
            found(settings)
    finally:
        broker.ctl("delete_user", user)
    assert f"exchange {topology().events}" in str(caught.value)
    assert "SECRETPW" not in str(caught.value)


def test_a_broker_that_is_away_or_silent_is_told_in_time(settings: Settings) -> None:
    with pytest.raises(BrokerUnavailable, match="refused"):
        inspect_queues(
            replace(settings.AMQP, port=free_port()), ["q"], timeout_seconds=LIMIT_SECONDS
        )

    with socket.create_server((LOOPBACK, 0)) as silent:
        address = replace(settings.AMQP, port=silent.getsockname()[1])
        began = time.monotonic()
        with pytest.raises(BrokerUnavailable, match="did not answer in time"):
            inspect_queues(address, ["q"], timeout_seconds=0.3)
    assert time.monotonic() - began < 3


def test_a_stop_ends_the_wait_for_an_answer(settings: Settings) -> None:
    with (
        socket.create_server((LOOPBACK, 0)) as silent,
        Lifetime(catch_signals=False) as lifetime,
    ):
        address = replace(settings.AMQP, port=silent.getsockname()[1])
        threading.Timer(0.2, lifetime.stop).start()
        began = time.monotonic()

        with pytest.raises(BrokerUnavailable):
            differences(address, topology(), timeout_seconds=60, lifetime=lifetime)

    assert time.monotonic() - began < 10
