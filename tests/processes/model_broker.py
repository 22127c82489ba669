"""A broker in memory for the real worker: queues, unacked deliveries, and crashes on demand."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from messaging import registry
from messaging.broker.confirms import Batch, Result, Verdict
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery, Message
from messaging.handling.worker import Worker
from messaging.running.process import Lifetime

CONFIRMED, NACKED = Result(Verdict.CONFIRMED), Result(Verdict.NACKED, "the queue is full")


class Crash(BaseException):
    """The process is gone, at this very point."""


@dataclass(frozen=True)
class Letter:
    """One message in a queue."""

    body: bytes
    headers: dict[Any, Any]
    message_id: str | None = None
    type: str | None = None


@dataclass
class ModelBroker:
    """Queues by name, oldest first."""

    topology: Topology
    queues: dict[str, list[Letter]] = field(default_factory=lambda: defaultdict(list))

    def consume(
        self,
        name: str,
        *,
        apply: registry.Apply,
        prefetch: int,
        simulate_temporary: Iterable[str] = (),
        crash: str = "",
        full: Iterable[str] = (),
    ) -> None:
        """Run the real worker of that consumer until its queue is empty, or it crashes."""
        consumer = replace(registry.consumer(name), apply=apply)
        session = ModelSession(self, crash=crash, full=set(full))

        def serve_once(serve: Callable[[Any], None], *_: Any, **__: Any) -> bool:
            serve(session)
            return True

        with (
            Lifetime(catch_signals=False) as lifetime,
            patch("messaging.handling.worker.serve_between_pauses", serve_once),
        ):
            worker = Worker(
                consumer,
                self.topology,
                lifetime,
                prefetch=prefetch,
                once=True,
                simulate_temporary=frozenset(simulate_temporary),
            )
            try:
                worker.run()
            except Crash:
                pass
            finally:
                session.close()


class ModelSession:
    """What `Session` promises, without a network. Lives until `close`."""

    failure = None
    frame_bytes = 131_064
    blocked = False
    did_work = False

    def __init__(self, broker: ModelBroker, *, crash: str, full: set[str]) -> None:
        self._broker = broker
        self._crash = crash
        self._full = full
        self._unacked: dict[int, Letter] = {}
        self._tag = 0
        self._queue = ""
        self._prefetch = 0

    def consume(
        self, queue: str, *, prefetch: int, on_arrival: Callable[[Sequence[Delivery]], None]
    ) -> None:
        self._queue, self._prefetch, self._on_arrival = queue, prefetch, on_arrival

    def wait(self, ready: Callable[[], object], _seconds: float | None) -> bool:
        return bool(ready())

    def check(self) -> None:
        if self._crash == "between commit and ack" and self._unacked:
            raise Crash

    def has_arrived(self) -> bool:
        return bool(self._broker.queues[self._queue]) and len(self._unacked) < self._prefetch

    def ready_count(self, queue: str) -> int:
        return len(self._broker.queues[queue])

    def take(self, limit: int, *, limit_bytes: int) -> list[Delivery]:
        taken: list[Delivery] = []
        while self.has_arrived() and len(taken) < limit:
            letter = self._broker.queues[self._queue].pop(0)
            self._tag += 1
            self._unacked[self._tag] = letter
            taken.append(_delivery(self._tag, letter))
        self._on_arrival(taken)
        return taken

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            del self._unacked[delivery.tag]
        if self._crash == "after the ack" and deliveries:
            raise Crash

    def submit(self, messages: Sequence[Message]) -> Batch:
        if self._crash == "before the copy" and messages:
            raise Crash
        batch = Batch([message.route for message in messages])
        for index, message in enumerate(messages):
            full = message.routing_key in self._full
            if not full:
                self._broker.queues[message.routing_key].append(_letter(message))
            batch.settle(index, NACKED if full else CONFIRMED)
        return batch

    def settle(self, batch: Batch) -> list[Result]:
        if self._crash == "between copy and ack" and batch.results:
            raise Crash
        return [result for result in batch.results if result is not None]

    def close(self) -> None:
        """What is unacked goes back to where it was."""
        self._broker.queues[self._queue][:0] = self._unacked.values()
        self._unacked = {}


def _delivery(tag: int, letter: Letter) -> Delivery:
    return Delivery(
        tag=tag,
        redelivered=False,
        body=letter.body,
        message_id=letter.message_id,
        type=letter.type,
        headers=letter.headers,
        properties={},
    )


def _letter(message: Message) -> Letter:
    return Letter(message.body, dict(message.headers), message.message_id, message.type)
