"""From the dead queues into the database: read, keep, commit, and only then ack.

Who holds a letter after each step of `_collect`: until the commit the broker alone (a crash
changes nothing, it comes back); after the commit both (it comes back marked as redelivered, and
is known by its mark: see `letter_intake`); after the ack the database alone. Two collectors may
work at once; the unique key of a letter decides between them.

Between collecting, about each second, letters that were requeued are looked at: whose receipt is
there is resolved (`resolution`). Repeating that changes nothing.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog

from messaging import registry
from messaging.arrivals import Arrival, read_arrival
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery
from messaging.database_errors import sanitised
from messaging.database_turns import DatabaseTurns
from messaging.errors import ConfigurationError, OutageError
from messaging.letter_intake import take_in
from messaging.process import DONE, FAILED, Lifetime
from messaging.resolution import resolve_delivered

log = structlog.get_logger(__name__)

# What the broker may send before it gets an ack, all dead queues together. It cannot be told to
# count bytes, and a body may have 10 MB and more: this many of them fit into memory.
PREFETCH = 40
BATCH_BYTES = 4 * 1024 * 1024
SWEEP_SECONDS = 1.0
SWEEP_SHARE = 0.1  # of the time, at most, where very many are on their way
EMPTY_LOOKS, EMPTY_LOOK_SECONDS = 2, 0.1


class Collector:
    """One collecting process. Several may run."""

    def __init__(
        self, topology: Topology, lifetime: Lifetime, *, using: str, once: bool = False
    ) -> None:
        self._lifetime = lifetime
        self._using = using
        self._once = once
        self._turns = DatabaseTurns(using, lifetime)
        self._consumers = {topology.dead(each.name): each.name for each in registry.consumers()}
        self._next_sweep = 0.0
        self._exit_code = DONE

    def run(self) -> int:
        """Collect until stopped, or with `once` until the dead queues are empty; the exit code.

        Raises ConfigurationError for what waiting cannot mend.
        """
        serve_until_done(self._serve, self._lifetime, name="collect_dead_letters")
        return self._exit_code

    def _serve(self, session: Session) -> None:
        self._exit_code = DONE
        for queue in self._consumers:
            session.consume(queue, prefetch=max(1, PREFETCH // len(self._consumers)))
        log.info("collecting", queues=sorted(self._consumers))
        while not self._lifetime.stopping:
            self._sweep_when_due(session)
            left = max(0.0, self._next_sweep - time.monotonic())
            session.wait(session.has_arrived, EMPTY_LOOK_SECONDS if self._once else left)
            session.check()
            deliveries = session.take(PREFETCH, limit_bytes=BATCH_BYTES)
            if deliveries:
                self._collect(session, deliveries)
            elif self._once and self._is_drained(session):
                self._next_sweep = 0.0
                self._sweep_when_due(session)
                return

    def _is_drained(self, session: Session) -> bool:
        looks = (
            session.ready_count(queue) for _ in range(EMPTY_LOOKS) for queue in self._consumers
        )
        return not any(looks) and not session.has_arrived()

    def _collect(self, session: Session, deliveries: Sequence[Delivery]) -> None:
        """One transaction; when it fails, each half in one of its own, down to the one at fault."""
        now = datetime.now(UTC)
        try:
            arrivals = [
                read_arrival(each, consumer=self._consumers[each.queue], now=now)
                for each in deliveries
            ]
            self._turns.insist(
                lambda: take_in(arrivals, using=self._using),
                still_wanted=lambda: not session.failure,
            )
        except OutageError:
            session.check()  # Stopping, or the broker is away: they come back.
            return
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # one must not hold back the others
            if len(deliveries) == 1:
                self._leave(deliveries[0], error)
                return
            middle = len(deliveries) // 2
            self._collect(session, deliveries[:middle])
            self._collect(session, deliveries[middle:])
            return
        session.check()
        session.ack(deliveries)
        for arrival in arrivals:
            _tell(arrival)

    def _leave(self, delivery: Delivery, error: Exception) -> None:
        """It stays unacked: the next session is offered it again, after all others."""
        self._exit_code = FAILED
        log.error(
            "dead letter not stored; it stays in its queue",
            consumer=self._consumers[delivery.queue],
            queue=delivery.queue,
            bytes=len(delivery.body),
            reason=type(error).__name__,
            error=sanitised(error),
        )

    def _sweep_when_due(self, session: Session) -> None:
        started = time.monotonic()
        if started < self._next_sweep:
            return
        try:
            resolved = self._turns.insist(
                lambda: resolve_delivered(using=self._using),
                still_wanted=lambda: not session.failure,
            )
        except OutageError:
            return
        if resolved:
            log.info("resolved", letters=resolved)
        ended = time.monotonic()
        self._next_sweep = ended + max(SWEEP_SECONDS, (ended - started) / SWEEP_SHARE)


def _tell(arrival: Arrival) -> None:
    facts = arrival.facts
    log.info(
        "collected",
        consumer=arrival.consumer,
        eventId=str(facts.event_id) if facts.event_id else None,
        materialId=facts.material_id,
        revision=facts.revision,
        attempt=arrival.attempt,
        outcome="dead",
        reason=arrival.reason,
    )
