"""What leaves a consumer unhandled: copies to its own retry queue or its own dead queue.

Copies are sent as soon as it is known that they are needed (`send`), and the broker is asked for
its answer when that is (`settle`): its work and the database's overlap. The original is acked only
after the broker has confirmed the copy. A process that dies before that has perhaps left a copy,
and its original comes back: two copies of one fact. A copy that is not taken is offered again with
growing pauses, while its original stays unacked.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import chain

import structlog

from messaging.broker import field_table
from messaging.broker.confirms import Batch, Verdict
from messaging.broker.session import Session
from messaging.broker.topology import Topology
from messaging.broker.wire import Message
from messaging.event.facts import read_facts
from messaging.handling.suspects import Suspects
from messaging.handling.unhandled import Unhandled
from messaging.registry import Consumer, Outcome
from messaging.running.process import Backoff

log = structlog.get_logger(__name__)

# In the frame of a copy's headers, what is neither carried nor an odd `attempt`: the properties
# (message_id and type have 255 bytes at most), our reason and consumer, an attempt that is one.
OWN_BYTES = 1280

_Sent = tuple[Sequence[Unhandled], Batch]


class Handover:
    """The copies of one session that the broker has not taken yet, and the way to offer them."""

    def __init__(
        self, consumer: Consumer, topology: Topology, session: Session, suspects: Suspects
    ) -> None:
        self._consumer = consumer
        self._topology = topology
        self._session = session
        self._suspects = suspects
        self._sent: list[_Sent] = []
        self._alone: list[Unhandled] = []  # to be offered one by one
        self._bare: set[int] = set()  # tags; their copies go without the headers of the original
        self._unencodable: list[Unhandled] = []  # to be offered so
        self._refused: list[Unhandled] = []
        self._refused_before = 0  # how many, before what is under way
        self._accepting: set[str] = set()  # the queues that took the last copy they were offered
        self._backoff = Backoff()
        self._next_offer = 0.0
        room = session.frame_bytes - OWN_BYTES
        self._value_bytes = min(field_table.MAX_VALUE_BYTES, room // 4)
        self._carried_bytes = min(field_table.MAX_CARRIED_BYTES, room - self._value_bytes)

    @property
    def refused(self) -> int:
        """How many copies wait to be offered again."""
        return len(self._refused)

    def seconds_to_next_offer(self) -> float | None:
        """How long to wait before `offer_again`; None when nothing is refused."""
        return max(0.0, self._next_offer - time.monotonic()) if self._refused else None

    def send(self, unhandled: Sequence[Unhandled]) -> None:
        """Publish the copies and wait for nothing; `settle` tells which were taken."""
        if not self._sent and not self._alone:
            self._refused_before = len(self._refused)
        together: list[Unhandled] = []
        for each in unhandled:
            if self._suspects.must_wait(each):
                self._refused.append(each)
            elif self._suspects.may_go_along(each):
                together.append(each)
            else:
                self._alone.append(each)
        if together:
            self._sent.append((together, self._submit(together)))

    def is_answered(self) -> bool:
        """Whether `settle` would give everything without a wait."""
        return not self._alone and all(batch.done for _, batch in self._sent)

    def settle(self) -> Iterator[list[Unhandled]]:
        """Wait for the broker's answers, in one part or several.

        After each part it gives those whose original may be acked; the caller acks them before
        it goes on, and stops when the session is lost.
        """
        sent, self._sent = self._sent, []
        alone, self._alone = self._alone, []
        if sent:
            # As one: over which of them the broker ended the session is not known.
            yield self._judge(sent)
        for part in self._suspects.parts(alone):
            yield self._judge([(part, self._submit(part))])
        if self._unencodable:
            bare, self._unencodable = self._unencodable, []
            yield self._judge([(bare, self._submit(bare))])
        if not self._refused:
            self._backoff.reset()
        elif len(self._refused) > self._refused_before:
            self._next_offer = time.monotonic() + self._backoff.next_seconds()
        elif self._refused_before and self._takes_again():
            self._next_offer = time.monotonic()
        self._refused_before = len(self._refused)  # a batch without copies puts no offer off

    def offer_again(self) -> Iterator[list[Unhandled]]:
        """Offer what was refused, once its pause is over; otherwise as `settle`."""
        if self._refused and time.monotonic() >= self._next_offer:
            waiting, self._refused = self._refused, []
            self.send(waiting)
            yield from self.settle()

    def _takes_again(self) -> bool:
        """Whether a queue that refused a copy has taken another one since."""
        return any(self._target(each) in self._accepting for each in self._refused)

    def _submit(self, part: Sequence[Unhandled]) -> Batch:
        return self._session.submit([self._copy(each) for each in part])

    def _judge(self, sent: Sequence[_Sent]) -> list[Unhandled]:
        taken: list[Unhandled] = []
        suspects: list[Unhandled] = []
        answers = [(part, self._session.settle(batch)) for part, batch in sent]
        for each, result in chain(*(zip(*answer, strict=True) for answer in answers)):
            match result.verdict:
                case Verdict.CONFIRMED:
                    taken.append(each)
                    self._accepting.add(self._target(each))
                    self._suspects.clear(each)
                case Verdict.UNKNOWN:
                    pass  # The session is over, or we stop: the original comes back.
                case Verdict.SUSPECT:
                    suspects.append(each)
                case Verdict.UNENCODABLE if each.delivery.tag not in self._bare:
                    self._bare.add(each.delivery.tag)
                    self._unencodable.append(each)
                case _:
                    self._refuse(each, result.detail)
        if suspects:
            self._suspects.blame(suspects)
        return taken

    def _refuse(self, each: Unhandled, reason: str) -> None:
        log.error(
            "copy not taken; the original stays unacked",
            consumer=self._consumer.name,
            eventId=each.event.event_id if each.event else None,
            queue=self._target(each),
            reason=reason,
        )
        self._accepting.discard(self._target(each))
        self._refused.append(each)

    def _target(self, each: Unhandled) -> str:
        name = self._consumer.name
        retried = each.outcome is Outcome.RETRIED
        return self._topology.retry(name) if retried else self._topology.dead(name)

    def _copy(self, each: Unhandled) -> Message:
        delivery, (event_id, event_type) = each.delivery, _identity(each)
        return Message(
            exchange="",
            routing_key=self._target(each),
            body=delivery.body,
            message_id=event_id,
            type=delivery.type or event_type,
            timestamp=int(time.time()),
            headers=self._headers(each),
        )

    def _headers(self, each: Unhandled) -> dict[str | bytes, object]:
        received = {} if each.delivery.tag in self._bare else each.delivery.headers
        headers = field_table.carried(received, limit_bytes=self._carried_bytes)
        if each.attempt is not None:
            again = each.outcome is Outcome.RETRIED
            headers["attempt"] = each.attempt + 1 if again else each.attempt
        elif "attempt" in received:
            odd = received["attempt"]
            if field_table.is_encodable(odd, limit_bytes=self._value_bytes):
                headers["attempt"] = odd
        headers["reason"] = type(each.error).__name__[:100]
        headers["consumer"] = self._consumer.name
        return headers


def _identity(each: Unhandled) -> tuple[str | None, str | None]:
    """eventId and type, also of a body that is no event but says them as an event would."""
    if each.event is not None:
        return each.event.event_id, each.event.type
    facts = read_facts(each.delivery.body)
    said = str(facts.event_id) if facts.event_id else None
    return each.delivery.message_id or said, facts.type
