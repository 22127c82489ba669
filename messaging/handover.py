"""What leaves a consumer unhandled: copies to its own retry queue or its own dead queue.

The original is acked only after the broker has confirmed the copy. A copy that is not taken is
offered again with growing pauses, while its original stays unacked: a crash brings it back.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from messaging.broker import field_table
from messaging.broker.confirms import Verdict
from messaging.broker.session import Session
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery, Message
from messaging.envelope import MAX_ATTEMPT, Event
from messaging.process import Backoff
from messaging.registry import Consumer, Outcome

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Unhandled:
    """A delivery that failed: what it was, as far as it could be read, and why."""

    delivery: Delivery
    event: Event | None
    attempt: int | None  # None: the header is not an attempt, and travels as it came
    error: BaseException
    transient: bool

    @property
    def outcome(self) -> Outcome:
        again = self.transient and self.attempt is not None and self.attempt < MAX_ATTEMPT
        return Outcome.RETRIED if again else Outcome.DEAD


class Handover:
    """The copies of one session that the broker has not taken yet, and the way to offer them."""

    def __init__(self, consumer: Consumer, topology: Topology, session: Session) -> None:
        self._consumer = consumer
        self._topology = topology
        self._session = session
        self._refused: list[Unhandled] = []
        self._backoff = Backoff()
        self._next_offer = 0.0

    @property
    def refused(self) -> int:
        """How many copies wait to be offered again."""
        return len(self._refused)

    def seconds_to_next_offer(self) -> float | None:
        """How long to wait before `offer_again`; None when nothing is refused."""
        return max(0.0, self._next_offer - time.monotonic()) if self._refused else None

    def offer(self, unhandled: Sequence[Unhandled]) -> list[Unhandled]:
        """Publish the copies and wait for the broker; gives those whose original may be acked."""
        taken: list[Unhandled] = []
        refused_before = len(self._refused)
        messages = [self._copy(each) for each in unhandled]
        results = self._session.settle(self._session.submit(messages))
        for each, result in zip(unhandled, results, strict=True):
            if result.verdict is Verdict.CONFIRMED:
                taken.append(each)
            elif result.verdict is not Verdict.UNKNOWN:  # else the session is over, or we stop
                log.error(
                    "copy not taken; the original stays unacked",
                    consumer=self._consumer.name,
                    eventId=each.event.event_id if each.event else None,
                    queue=self._target(each),
                    reason=result.detail,
                )
                self._refused.append(each)
        if not self._refused:
            self._backoff.reset()
        elif len(self._refused) > refused_before:
            self._next_offer = time.monotonic() + self._backoff.next_seconds()
        return taken

    def offer_again(self) -> list[Unhandled]:
        """Offer what was refused, once its pause is over."""
        if not self._refused or time.monotonic() < self._next_offer:
            return []
        waiting, self._refused = self._refused, []
        return self.offer(waiting)

    def _target(self, each: Unhandled) -> str:
        name = self._consumer.name
        retried = each.outcome is Outcome.RETRIED
        return self._topology.retry(name) if retried else self._topology.dead(name)

    def _copy(self, each: Unhandled) -> Message:
        delivery, event = each.delivery, each.event
        return Message(
            exchange="",
            routing_key=self._target(each),
            body=delivery.body,
            message_id=event.event_id if event else delivery.message_id,
            type=delivery.type or (event.type if event else None),
            timestamp=int(time.time()),
            headers=self._headers(each),
        )

    def _headers(self, each: Unhandled) -> dict[str | bytes, object]:
        headers = field_table.carried(each.delivery.headers)
        if each.attempt is not None:
            again = each.outcome is Outcome.RETRIED
            headers["attempt"] = each.attempt + 1 if again else each.attempt
        elif field_table.is_encodable(each.delivery.headers.get("attempt")):
            headers["attempt"] = each.delivery.headers["attempt"]
        headers["reason"] = type(each.error).__name__[:100]
        headers["consumer"] = self._consumer.name
        return headers
