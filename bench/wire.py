"""The broker's objects of one turn: declared before it, looked at after it, deleted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel

from messaging.broker.topology import Binding, Exchange, Queue, Topology

CONSUMERS = ("audit", "catalog")


@dataclass(frozen=True)
class _Subscriber:
    name: str
    patterns: tuple[str, ...] = ("material.*",)


class Wire:
    """One namespace on the broker, through one connection."""

    def __init__(self, channel: BlockingChannel, topology: Topology) -> None:
        self.topology = topology
        self._channel = channel

    def ready(self, queue: str) -> int:
        """How many messages wait in the queue."""
        declared = self._channel.queue_declare(queue, passive=True)
        return int(declared.method.message_count)

    def consumers(self, queue: str) -> int:
        """How many are subscribed to the queue."""
        declared = self._channel.queue_declare(queue, passive=True)
        return int(declared.method.consumer_count)

    def take_all(self, queue: str) -> list[tuple[str, bytes]]:
        """message_id and body of everything in the queue; it is empty then."""
        left = self.ready(queue)
        taken: list[tuple[str, bytes]] = []
        if left:
            for _, properties, body in self._channel.consume(queue, auto_ack=True):
                taken.append((properties.message_id, body))
                left -= 1
                if not left:
                    break
            self._channel.cancel()
        return taken

    def delete_queues(self, *queues: str) -> None:
        """Queues that are not of the topology; one that is not there is no error."""
        for queue in queues:
            self._channel.queue_delete(queue)

    def _declare(self) -> None:
        for step in self.topology:
            match step:
                case Exchange(name, kind):
                    self._channel.exchange_declare(name, exchange_type=kind, durable=True)
                case Queue(name, arguments):
                    self._channel.queue_declare(name, durable=True, arguments=dict(arguments))
                case Binding(queue, exchange, routing_key):
                    self._channel.queue_bind(queue, exchange, routing_key)

    def _delete(self) -> None:
        for queue in self.topology.queue_names():
            self._channel.queue_delete(queue)
        for exchange in (self.topology.events, self.topology.resume):
            self._channel.exchange_delete(exchange)


@contextmanager
def wire(environment: Mapping[str, str]) -> Iterator[Wire]:
    """The namespace of that environment, declared; everything of it is deleted at the end."""
    parameters: Any = pika.URLParameters(environment["AMQP_URL"])
    parameters.heartbeat = 0  # it is silent for as long as a turn takes
    connection = pika.BlockingConnection(parameters)
    topology = Topology(
        namespace=environment["DELIVERY_NAMESPACE"],
        queue_type=environment.get("DELIVERY_QUEUE_TYPE", "classic"),
        retry_delay_ms=5000,
        subscribers=[_Subscriber(name) for name in CONSUMERS],
    )
    line = Wire(connection.channel(), topology)
    try:
        line._declare()
        yield line
    finally:
        line._delete()
        connection.close()
