"""From a queue to a projection: check, apply with a receipt, commit, and only then ack.

Who holds a message after each step of `_handle`: until the commit the broker alone (a crash
changes nothing, it comes back); after the commit both (it comes back and is a duplicate);
after the ack the database alone. What failed stays with the broker until a copy in the retry
or dead queue is confirmed (see `handover`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from messaging import attempts, inbox, registry
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery
from messaging.database_errors import kind_of, sanitised
from messaging.database_turns import DatabaseTurns
from messaging.envelope import Event, decode, read_attempt
from messaging.errors import (
    ConfigurationError,
    FactConflict,
    OutageError,
    PermanentError,
    SimulatedTransientError,
)
from messaging.handover import Handover, Unhandled
from messaging.process import DONE, FAILED, Lifetime
from messaging.registry import Consumer, Outcome

log = structlog.get_logger(__name__)

DEFAULT_PREFETCH = 1000
EMPTY_LOOKS, EMPTY_LOOK_SECONDS = 2, 0.1

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Readable:
    """A delivery whose header and body are sound."""

    delivery: Delivery
    event: Event
    attempt: int


@dataclass(frozen=True)
class Handled:
    """A delivery whose outcome is committed."""

    readable: Readable
    outcome: Outcome


class Worker:
    """One process of one consumer. Several may run at once; the database decides between them."""

    def __init__(
        self,
        consumer: Consumer,
        topology: Topology,
        lifetime: Lifetime,
        *,
        prefetch: int = DEFAULT_PREFETCH,
        once: bool = False,
        simulate_temporary: frozenset[str] = frozenset(),
    ) -> None:
        self._consumer = consumer
        self._topology = topology
        self._lifetime = lifetime
        self._prefetch = prefetch
        self._batch_limit = max(1, prefetch // 2)  # the broker refills while a batch is applied
        self._once = once
        self._simulate_temporary = simulate_temporary
        self._turns = DatabaseTurns(consumer.database, lifetime)
        self._exit_code = DONE

    def run(self) -> int:
        """Consume until stopped, or with `once` until the queue is empty; the exit code.

        Raises ConfigurationError for what waiting cannot mend.
        """
        serve_until_done(self._serve, self._lifetime, name=f"consume {self._consumer.name}")
        return self._exit_code

    def _serve(self, session: Session) -> None:
        queue = self._topology.main(self._consumer.name)
        handover = Handover(self._consumer, self._topology, session)
        session.consume(queue, prefetch=self._prefetch)
        log.info("consuming", consumer=self._consumer.name, queue=queue, prefetch=self._prefetch)
        while not self._lifetime.stopping:
            patience = EMPTY_LOOK_SECONDS if self._once else handover.seconds_to_next_offer()
            session.wait(session.has_arrived, patience)
            session.check()
            self._finish(session, [], handover.offer_again())
            deliveries = session.take(self._batch_limit)
            if deliveries:
                self._handle(session, handover, deliveries)
            elif self._once and self._is_drained(session, queue):
                self._exit_code = FAILED if handover.refused else DONE
                return

    def _is_drained(self, session: Session, queue: str) -> bool:
        looks = (session.ready_count(queue) for _ in range(EMPTY_LOOKS))
        return not any(looks) and not session.has_arrived()

    def _handle(self, session: Session, handover: Handover, deliveries: Sequence[Delivery]) -> None:
        handled: list[Handled] = []
        unhandled: list[Unhandled] = []
        taken: list[Unhandled] = []
        readable = self._check(deliveries, unhandled)
        try:
            self._apply(session, readable, handled, unhandled)
            if unhandled:
                taken = handover.offer(self._count(session, unhandled))
        except _Stopped:
            pass  # What is committed is acked below; the rest comes back.
        session.check()
        self._finish(session, handled, taken)

    def _check(self, deliveries: Sequence[Delivery], unhandled: list[Unhandled]) -> list[Readable]:
        readable: list[Readable] = []
        for delivery in deliveries:
            event, attempt = None, None
            try:
                attempt = read_attempt(delivery.headers)
                event = decode(delivery.body, registry.event_types())
                if event.material_id in self._simulate_temporary:
                    raise SimulatedTransientError("SIMULATE_TEMPORARY names this material")
            except (PermanentError, SimulatedTransientError) as error:
                transient = isinstance(error, SimulatedTransientError)
                unhandled.append(Unhandled(delivery, event, attempt, error, transient))
            else:
                readable.append(Readable(delivery, event, attempt))
        return readable

    def _apply(
        self,
        session: Session,
        readable: Sequence[Readable],
        handled: list[Handled],
        unhandled: list[Unhandled],
    ) -> None:
        """One transaction; when it fails, each half in one of its own, down to the one at fault."""
        if not readable:
            return
        events = [each.event for each in readable]
        try:
            outcomes = self._in_turn(session, lambda: inbox.handle(self._consumer, events))
        except (_Stopped, OutageError, ConfigurationError):
            raise
        except Exception as error:  # noqa: BLE001  # a handler may raise anything
            if len(readable) == 1:
                permanent = issubclass(kind_of(error), PermanentError)
                unhandled.append(_unhandled(readable[0], error, transient=not permanent))
                return
            middle = len(readable) // 2
            self._apply(session, readable[:middle], handled, unhandled)
            self._apply(session, readable[middle:], handled, unhandled)
            return
        for each, outcome in zip(readable, outcomes, strict=True):
            if isinstance(outcome, FactConflict):
                unhandled.append(_unhandled(each, outcome, transient=False))
            else:
                handled.append(Handled(each, outcome))

    def _count(self, session: Session, unhandled: Sequence[Unhandled]) -> list[Unhandled]:
        """Record the failures of decoded events, and give each the attempt that it really was."""
        recordable = [
            attempts.Failure(each.event, each.attempt, each.error, each.transient)
            for each in unhandled
            if each.event is not None and each.attempt is not None
        ]
        if not recordable:
            return list(unhandled)
        try:
            counted = iter(
                self._turns.insist(
                    lambda: attempts.record(self._consumer, recordable),
                    still_wanted=lambda: not session.failure,
                )
            )
        except OutageError as error:
            raise _Stopped from error
        return [
            each if each.event is None else replace(each, attempt=next(counted))
            for each in unhandled
        ]

    def _in_turn(self, session: Session, work: Callable[[], _Result]) -> _Result:
        """Do database work, pausing as long as the database is away. Raises when the broker is."""
        while not self._lifetime.stopping:
            try:
                with self._turns.turn():
                    return work()
            except OutageError as error:
                self._turns.wait_for_return(error, still_wanted=lambda: not session.failure)
                session.check()
        raise _Stopped

    def _finish(
        self, session: Session, handled: Sequence[Handled], taken: Sequence[Unhandled]
    ) -> None:
        session.ack(
            [each.readable.delivery for each in handled] + [each.delivery for each in taken]
        )
        for each in handled:
            self._log(each.readable.event, each.readable.attempt, each.outcome)
        for failure in taken:
            self._log(failure.event, failure.attempt, failure.outcome, failure.error)

    def _log(
        self,
        event: Event | None,
        attempt: int | None,
        outcome: Outcome,
        error: BaseException | None = None,
    ) -> None:
        record = log.bind(
            consumer=self._consumer.name,
            eventId=event.event_id if event else None,
            materialId=event.material_id if event else None,
            revision=event.revision if event else None,
            attempt=attempt,
            outcome=str(outcome),
        )
        if error is None:
            record.info(str(outcome))
        else:
            record.warning(str(outcome), reason=type(error).__name__, error=sanitised(error))


class _Stopped(Exception):  # not an error
    """A stop was asked for in the middle of the work."""


def _unhandled(readable: Readable, error: BaseException, *, transient: bool) -> Unhandled:
    return Unhandled(readable.delivery, readable.event, readable.attempt, error, transient)
