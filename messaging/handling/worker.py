"""From a queue to a projection: check, apply with a receipt, commit, and only then ack.

Who holds a message after each step of `_handle`: until the commit the broker alone (a crash
changes nothing, it comes back); after the commit both (it comes back and is a duplicate);
after the ack the database alone. What failed stays with the broker until a copy in the retry
or dead queue is confirmed (see `handover`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import structlog

from messaging.broker.session import Session
from messaging.broker.topology import Topology
from messaging.envelope import Event
from messaging.errors import ConfigurationError, OutageError
from messaging.handling import attempts, inbox
from messaging.handling.effects import Refusals
from messaging.handling.halving import Handled, handle_in_halves
from messaging.handling.handover import Handover
from messaging.handling.outcome_log import tell_failure, tell_handled
from messaging.handling.reading import Readable, read
from messaging.handling.reading_ahead import ReadingAhead
from messaging.handling.suspects import Suspects
from messaging.handling.unhandled import Unhandled
from messaging.operating.pauses import LOOK_SECONDS, PauseWatch, serve_between_pauses
from messaging.registry import Consumer, Outcome
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Lifetime
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)

DEFAULT_PREFETCH = 1000
BATCH_LIMIT = 500
MAX_BATCH_BYTES = 4 * 1024 * 1024
# So long may what is committed wait for its ack, for the sake of one ack for the whole batch.
PROMPT_SECONDS = 0.05
EMPTY_LOOKS, EMPTY_LOOK_SECONDS = 2, 0.1


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
        # Half, so that the broker refills while a batch is applied.
        self._batch_limit = min(BATCH_LIMIT, max(1, prefetch // 2))
        self._once = once
        self._simulate_temporary = simulate_temporary
        self._turns = DatabaseTurns(consumer.database, lifetime)
        self._pause = PauseWatch(consumer.name, lifetime)
        self._suspects = Suspects()
        self._refusals = Refusals()
        self._exit_code = DONE

    def run(self) -> int:
        """Consume until stopped, or with `once` until the queue is empty; the exit code.

        While paused it holds nothing and waits; with `once` that is a failure. Raises
        ConfigurationError for what waiting cannot mend.
        """
        name = f"consume {self._consumer.name}"
        if not serve_between_pauses(
            self._serve, self._pause, self._lifetime, name=name, once=self._once
        ):
            return FAILED
        return self._exit_code

    def _serve(self, session: Session) -> bool:
        """Until stopped, or with `once` done; True where a pause began before that."""
        queue = self._topology.main(self._consumer.name)
        handover = Handover(self._consumer, self._topology, session, self._suspects)
        ahead = ReadingAhead(partial(read, simulate_temporary=self._simulate_temporary))
        session.consume(queue, prefetch=self._prefetch, on_arrival=ahead.arrived)
        log.info("consuming", consumer=self._consumer.name, queue=queue, prefetch=self._prefetch)
        while not self._lifetime.stopping:
            if self._pause.holds():
                return True
            patience = EMPTY_LOOK_SECONDS if self._once else LOOK_SECONDS
            next_offer = handover.seconds_to_next_offer()
            session.wait(
                session.has_arrived, patience if next_offer is None else min(patience, next_offer)
            )
            session.check()
            for taken in handover.offer_again():
                session.check()
                self._finish(session, [], taken)
            deliveries = session.take(self._batch_limit, limit_bytes=MAX_BATCH_BYTES)
            if deliveries:
                self._handle(session, handover, map(ahead.read, deliveries))
            elif self._once and self._is_finished(session, handover, queue):
                self._exit_code = FAILED if handover.refused else DONE
                break
        return False

    def _is_finished(self, session: Session, handover: Handover, queue: str) -> bool:
        if handover.refused >= self._prefetch:
            return True  # Nothing more can come while these are unacked.
        looks = (session.ready_count(queue) for _ in range(EMPTY_LOOKS))
        return not any(looks) and not session.has_arrived()

    def _handle(
        self, session: Session, handover: Handover, deliveries: Iterable[Readable | Unhandled]
    ) -> None:
        handled: list[Handled] = []
        readable: list[Readable] = []
        unreadable: list[Unhandled] = []
        failed: list[Unhandled] = []
        for delivery in deliveries:
            if self._lifetime.stopping:
                return  # A hostile body may take a tenth of a second; nothing is begun yet.
            match delivery:
                case Readable() as sound:
                    readable.append(sound)
                case Unhandled(event=Event(), attempt=int()) as simulated:
                    failed.append(simulated)
                case Unhandled() as wrong:
                    unreadable.append(wrong)
        if unreadable:
            # Before the transaction: the broker can confirm the copies while it runs.
            handover.send(self._count(session, unreadable))
        try:
            for result in handle_in_halves(readable, lambda events: self._apply(session, events)):
                if isinstance(result, Unhandled):
                    failed.append(result)
                else:
                    handled.append(result)
            if failed and not session.failure:
                handover.send(self._count(session, failed))
        except _Stopped:
            pass  # What is committed is acked; the rest comes back.
        except ConfigurationError:
            # What went out goes out once, however often a supervisor starts this again.
            self._settle(session, handover, handled)
            raise
        # One ack for all of it, unless the broker has the copies wait.
        if not (handover.is_answered() or session.wait(handover.is_answered, PROMPT_SECONDS)):
            session.check()
            self._finish(session, handled, [])
            handled = []
        self._settle(session, handover, handled)

    def _settle(self, session: Session, handover: Handover, handled: Sequence[Handled]) -> None:
        """Ack what is committed, and each original whose copy the broker confirms."""
        for taken in handover.settle():
            session.check()
            self._finish(session, handled, taken)
            handled = []
        session.check()
        self._finish(session, handled, [])

    def _count(self, session: Session, unhandled: Sequence[Unhandled]) -> list[Unhandled]:
        """Record the failures of decoded events, and give each the attempt that it really was.

        Gives nothing when asked to stop, or when the broker went away, before it was done. Looks
        for the database also where there is nothing to record: while it is away, nothing goes
        to the dead queue.
        """
        failures = [
            attempts.Failure(each.event, each.attempt, each.error, each.transient)
            for each in unhandled
            if each.event is not None and each.attempt is not None
        ]

        def count() -> list[int]:
            if failures:
                return attempts.record(self._consumer, failures)
            self._turns.ask()
            return []

        try:
            counted = self._turns.insist(count, still_wanted=lambda: not session.failure)
        except OutageError:
            return []
        left = iter(counted)
        return [
            each
            if each.event is None or each.attempt is None
            else replace(each, attempt=next(left))
            for each in unhandled
        ]

    def _apply(self, session: Session, events: Sequence[Event]) -> list[Outcome | Exception]:
        """In one transaction, after as many pauses as the database is away; see _Stopped.

        Raises BrokerUnavailable when the broker is lost meanwhile.
        """
        while not self._lifetime.stopping:
            try:
                with self._turns.turn():
                    return inbox.handle(self._consumer, events, lately=self._refusals)
            except OutageError as error:
                self._turns.wait_for_return(error, still_wanted=lambda: not session.failure)
                session.check()
        raise _Stopped

    def _finish(
        self, session: Session, handled: Sequence[Handled], taken: Sequence[Unhandled]
    ) -> None:
        """Ack what is committed here or confirmed by the broker, and tell it."""
        session.ack([each.delivery for each, _ in handled] + [each.delivery for each in taken])
        tell_handled(self._consumer, [(each.event, each.attempt, to) for each, to in handled])
        for lost in taken:
            tell_failure(self._consumer, lost.event, lost.attempt, lost.outcome, lost.error)


class _Stopped(OutageError):
    """A stop was asked for in the middle of the work; nobody pays for what was not done."""
