"""Fixture `queues`: what lies in the queues of a test's namespace, and ways to put things there."""

from collections.abc import Iterator, Mapping
from typing import Any

import pika
import pytest
from pytest_django import Settings

from messaging.broker.sessions import topology
from messaging.broker.topology import Binding, Exchange, Queue, Step, Topology
from messaging.envelope import Event
from tests.eventually import PATIENCE_SECONDS, eventually
from tests.processes.harness import Run
from tests.wire import Message, Wire


class Queues:
    """The queues as any other program sees them, through a plain AMQP client."""

    def __init__(self, wire: Wire, topology: Topology) -> None:
        self.wire = wire
        self.topology = topology

    def declare(self) -> None:
        """Make the topology as `declare_topology` does."""
        for step in self.topology:
            self.declare_step(step)

    def declare_step(self, step: Step) -> None:
        match step:
            case Exchange(name, kind):
                self.wire.channel.exchange_declare(name, kind, durable=True)
            case Queue(name, arguments):
                self.wire.channel.queue_declare(name, durable=True, arguments=dict(arguments))
            case Binding(queue, exchange, key):
                self.wire.channel.queue_bind(queue, exchange, key)

    def queue_steps(self) -> dict[str, Queue]:
        return {step.name: step for step in self.topology if isinstance(step, Queue)}

    def publish(self, *events: Event, attempt: int | None = 0) -> None:
        """As the relay does: to the exchange, every consumer gets it."""
        for event in events:
            self.send(
                event.body,
                exchange=self.topology.events,
                routing_key=event.type,
                headers=None if attempt is None else {"attempt": attempt},
                message_id=event.event_id,
                type=event.type,
            )

    def give(self, consumer: str, *bodies: bytes, headers: Any = None, **properties: Any) -> None:
        """Put messages into one consumer's queue."""
        for body in bodies:
            self.send(
                body,
                exchange="",
                routing_key=self.topology.main(consumer),
                headers=headers,
                **properties,
            )

    def send(
        self,
        body: bytes,
        *,
        exchange: str,
        routing_key: str,
        headers: Mapping[str, Any] | None = None,
        **properties: Any,
    ) -> None:
        self.wire.publish(
            body, exchange=exchange, routing_key=routing_key, headers=headers, **properties
        )

    def ready(self, consumer: str) -> dict[str, int]:
        """How many messages lie ready, by the kind of queue; empty ones are left out."""
        names = {
            "main": self.topology.main(consumer),
            "retry": self.topology.retry(consumer),
            "dead": self.topology.dead(consumer),
        }
        counts = {kind: self.wire.ready(name) for kind, name in names.items()}
        return {kind: count for kind, count in counts.items() if count}

    def await_ready(
        self, consumer: str, seconds: float = PATIENCE_SECONDS, **expected: int
    ) -> None:
        """Wait until exactly this lies ready: `await_ready("catalog", dead=1)`."""

        def as_expected() -> bool:
            found = self.ready(consumer)
            assert found == expected
            return True

        eventually(as_expected, seconds, what=f"{consumer}: {expected}")

    def dead(self, consumer: str) -> list[Message]:
        """Take everything out of the dead queue."""
        return self.wire.drain(self.topology.dead(consumer))

    def subscribers(self, consumer: str) -> int:
        return self.wire.consumers(self.topology.main(consumer))


@pytest.fixture
def long_delay(run: Run) -> None:
    """What waits in a retry queue stays there. Ask for it before `queues`."""
    run.environment["DELIVERY_RETRY_DELAY_MS"] = "600000"


@pytest.fixture
def some_delay(run: Run) -> None:
    """Time enough to do something else while a copy waits. Ask for it before `queues`."""
    run.environment["DELIVERY_RETRY_DELAY_MS"] = "3000"


@pytest.fixture
def queues(run: Run, settings: Settings) -> Iterator[Queues]:
    """The declared topology of the test, on the broker that `run` works with."""
    settings.DELIVERY_RETRY_DELAY_MS = int(run.environment["DELIVERY_RETRY_DELAY_MS"])
    wire = Wire(run.environment["AMQP_URL"])
    found = Queues(wire, topology())
    found.declare()
    yield found
    wire.close()


def attempt_of(message: Message) -> object:
    return message.headers.get("attempt")


def property_names(message: Message) -> set[str]:
    """The AMQP properties that are set."""
    known = vars(pika.BasicProperties()).keys()
    return {name for name in known if getattr(message.properties, name) is not None}
