"""The names, arguments and bindings of everything we own on the broker, as data.

Sources: https://www.rabbitmq.com/docs/dlx, https://www.rabbitmq.com/docs/ttl,
https://www.rabbitmq.com/docs/quorum-queues.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

# RabbitMQ 4 gives quorum queues a delivery limit of 20, after which a message is dropped. Older
# brokers have none and refuse the newer "-1". A limit that is never reached is equal on all.
UNREACHABLE_DELIVERY_LIMIT = 2**31 - 1


class Subscriber(Protocol):
    """What the topology needs to know of a consumer."""

    @property
    def name(self) -> str: ...
    @property
    def patterns(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Exchange:
    name: str
    kind: str

    def __str__(self) -> str:
        return f"exchange {self.name}"


@dataclass(frozen=True)
class Queue:
    name: str
    arguments: Mapping[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"queue {self.name}"


@dataclass(frozen=True)
class Binding:
    queue: str
    exchange: str
    routing_key: str

    def __str__(self) -> str:
        return f"binding {self.exchange} -> {self.queue} ({self.routing_key})"


Step = Exchange | Queue | Binding


@dataclass(frozen=True)
class Topology:
    """All objects of one namespace; iterating gives them in the one order of declaration."""

    namespace: str
    queue_type: str
    retry_delay_ms: int
    subscribers: Sequence[Subscriber]

    @property
    def events(self) -> str:
        """Events enter here."""
        return f"{self.namespace}.events"

    @property
    def resume(self) -> str:
        """What comes back from a retry queue, and what an operator redrives, goes through here."""
        return f"{self.namespace}.resume"

    def main(self, consumer: str) -> str:
        return f"{self.namespace}.{consumer}"

    def retry(self, consumer: str) -> str:
        return f"{self.namespace}.{consumer}.retry"

    def dead(self, consumer: str) -> str:
        return f"{self.namespace}.{consumer}.dead"

    def __iter__(self) -> Iterator[Step]:
        yield Exchange(self.events, "topic")
        yield Exchange(self.resume, "direct")
        for subscriber in sorted(self.subscribers, key=lambda each: each.name):
            yield from self._queues(subscriber.name)
            for pattern in subscriber.patterns:
                yield Binding(self.main(subscriber.name), self.events, pattern)
            yield Binding(self.main(subscriber.name), self.resume, subscriber.name)

    def queue_names(self) -> list[str]:
        """Every queue, in order of declaration."""
        return [step.name for step in self if isinstance(step, Queue)]

    def main_names(self) -> list[str]:
        """The queues from which consumers take."""
        return [self.main(subscriber.name) for subscriber in self.subscribers]

    def _queues(self, consumer: str) -> Iterator[Queue]:
        quorum = self.queue_type == "quorum"
        queue_type = {"x-queue-type": self.queue_type}
        unlimited = {"x-delivery-limit": UNREACHABLE_DELIVERY_LIMIT} if quorum else {}
        confirmed_hop = (
            {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
            if quorum
            else {}
        )
        yield Queue(self.main(consumer), {**queue_type, **unlimited})
        yield Queue(
            self.retry(consumer),
            {
                **queue_type,
                **confirmed_hop,
                "x-message-ttl": self.retry_delay_ms,
                "x-dead-letter-exchange": self.resume,
                "x-dead-letter-routing-key": consumer,
            },
        )
        yield Queue(self.dead(consumer), {**queue_type, **unlimited})
