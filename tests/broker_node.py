"""Fixtures: the run's shared RabbitMQ node, a node of the test's own, a namespace, the wire."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pika.exceptions import AMQPError
from pytest_django import Settings

from dev import amqp_probe
from dev.free_ports import LOOPBACK
from dev.rabbitmq import RabbitNode, find_scripts
from tests.environment import run_folder, services_folder
from tests.file_lock import locked
from tests.missing_service import missing
from tests.wire import Wire

OBJECTS_OF_A_CONSUMER = ("", ".retry", ".dead")


@pytest.fixture(scope="session")
def broker() -> RabbitNode:
    """The node that all workers of the run share: started by the first test that wants it.

    Never stop, kill, pause or reconfigure it: that is what `own_broker` is for.
    """
    if find_scripts() is None:
        missing("RabbitMQ (rabbitmq-server)")
    folder = services_folder() / "broker"
    node = RabbitNode(folder, schedulers=1)
    with locked(folder.with_suffix(".lock")):
        if not (node.is_running() and amqp_probe.speaks_amqp(LOOPBACK, node.amqp_port)):
            node.start()
    return node


@pytest.fixture
def namespace(broker: RabbitNode, settings: Settings) -> Iterator[str]:
    """A fresh DELIVERY_NAMESPACE on the shared node, set in the settings with its address."""
    with _namespace_on(broker, settings) as name:
        yield name


@pytest.fixture
def wire(broker: RabbitNode) -> Iterator[Wire]:
    """A plain AMQP client of the shared node."""
    client = Wire(broker.amqp_url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def _own_node(worker_id: str) -> Iterator[RabbitNode]:
    """One node a worker, lent to one test after the other: a boot costs seconds."""
    if find_scripts() is None:
        missing("RabbitMQ (rabbitmq-server)")
    node = RabbitNode(run_folder() / f"own-broker-{worker_id}", schedulers=1)
    yield node
    node.kill()


@pytest.fixture
def own_broker(_own_node: RabbitNode, settings: Settings) -> Iterator[RabbitNode]:
    """A running node that no other test uses meanwhile: kill, stop, start, pause it at will.

    Its address and a fresh namespace are in the settings (`settings.DELIVERY_NAMESPACE`). Users,
    virtual hosts and policies that a test makes it must take away itself.
    """
    if _own_node.is_running():
        _own_node.resume()
    else:
        _own_node.start()
    with _namespace_on(_own_node, settings):
        yield _own_node


@contextmanager
def _namespace_on(node: RabbitNode, settings: Settings) -> Iterator[str]:
    from messaging.broker.address import BrokerAddress

    name = f"t-{uuid.uuid4().hex[:12]}"
    settings.AMQP = BrokerAddress.parse(node.amqp_url)
    settings.DELIVERY_NAMESPACE = name
    yield name
    if node.is_running():
        _clean_up(node, name)


def _clean_up(node: RabbitNode, name: str) -> None:
    """Best effort: the node itself is thrown away with the run."""
    from messaging.registry import consumers

    client = Wire(node.amqp_url)
    try:
        for consumer in consumers():
            for suffix in OBJECTS_OF_A_CONSUMER:
                client.delete_queue(f"{name}.{consumer.name}{suffix}")
        for suffix in ("events", "resume"):
            client.delete_exchange(f"{name}.{suffix}")
    except (AMQPError, OSError):
        pass
    finally:
        client.close()
