"""From the dead queues into the database: read, keep, commit, and only then ack.

Who holds a letter after each step of `_collect`: until the commit the broker alone (a crash
changes nothing, it comes back); after the commit both (it comes back marked as redelivered, and
is known by its mark: see `intake`); after the ack the database alone. Two collectors may
work at once; the unique key of a letter decides between them.

A letter that the database refuses, again and again, is left alone in its queue, unacked, and the
others go on; after a while all queues are let go and taken up again, and it is tried once more.
Where such letters take the place of all that the broker sends ahead, what is behind them waits.

Between collecting, about each second, letters that were requeued are looked at: whose receipt is
there is resolved (`resolution`). Repeating that changes nothing, and it needs no broker: while
that is away it is done before each try to connect.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from messaging import registry
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.broker.topology import Topology
from messaging.broker.wire import Delivery
from messaging.errors import ConfigurationError, OutageError
from messaging.letters.arrivals import Arrival, read_arrival
from messaging.letters.intake import take_in
from messaging.letters.resolution import resolve_delivered
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Lifetime
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)

# What the broker may send before it gets an ack, all dead queues together. It cannot be told to
# count bytes, and a body may have 100 MB: so many of them fit on the disk, where the session puts
# what is large.
PREFETCH = 40
BATCH_BYTES = 4 * 1024 * 1024
SWEEP_SECONDS = 1.0
SWEEP_SHARE = 0.1  # of the time, at most, where very many are on their way
EMPTY_LOOKS, EMPTY_LOOK_SECONDS = 2, 0.1
TRANSIENT_TRIES = 4  # before a failure that is no outage counts as the letters' own
REOFFER_SECONDS = 30.0
SWEEP_PAUSE_SECONDS = 30.0  # after a failure


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
        self._prefetch = max(1, PREFETCH // max(1, len(self._consumers)))  # of each queue
        self._left: Counter[str] = Counter()  # by queue, in this session
        self._reoffer_at = float("inf")
        self._next_sweep = 0.0
        self._exit_code = DONE

    def run(self) -> int:
        """Collect until stopped, or with `once` until the dead queues are empty; the exit code.

        Raises ConfigurationError for what waiting cannot mend.
        """
        while True:
            serve_until_done(
                self._serve,
                self._lifetime,
                name="collect_dead_letters",
                while_away=lambda: self._sweep_when_due(still_wanted=lambda: False),
            )
            if self._once:
                return self._exit_code
            if self._lifetime.stopping:
                return DONE

    def _serve(self, session: Session) -> None:
        """Until stopped, or drained with `once`, or what was left is to be offered again."""
        self._exit_code = DONE
        self._left.clear()
        self._reoffer_at = float("inf")
        for queue in self._consumers:
            session.consume(queue, prefetch=self._prefetch)
        log.info("collecting", queues=sorted(self._consumers))
        while not self._lifetime.stopping and time.monotonic() < self._reoffer_at:
            self._sweep_when_due(still_wanted=lambda: not session.failure)
            left = max(0.0, min(self._next_sweep, self._reoffer_at) - time.monotonic())
            session.wait(session.has_arrived, EMPTY_LOOK_SECONDS if self._once else left)
            session.check()
            deliveries = session.take(PREFETCH, limit_bytes=BATCH_BYTES)
            if deliveries:
                self._collect(session, deliveries)
            elif self._once and self._is_drained(session):
                self._next_sweep = 0.0
                self._sweep_when_due(still_wanted=lambda: not session.failure)
                return

    def _is_drained(self, session: Session) -> bool:
        """Nothing more can come: all queues are empty, or blocked by what was left."""
        flowing = [queue for queue in self._consumers if self._left[queue] < self._prefetch]
        looks = (session.ready_count(queue) for _ in range(EMPTY_LOOKS) for queue in flowing)
        return not any(looks) and not session.has_arrived()

    def _collect(
        self, session: Session, deliveries: Sequence[Delivery], *, again: bool = False
    ) -> None:
        """One transaction; when it fails, each half in one of its own, down to the one at fault.

        `again` where these may have been kept already, by a commit whose answer was lost.
        """
        now = datetime.now(UTC)
        tried = again

        def keep() -> None:
            nonlocal tried
            repeated, tried = tried, True
            take_in(arrivals, using=self._using, again=repeated)

        try:
            arrivals = [
                read_arrival(each, consumer=self._consumers[each.queue], now=now)
                for each in deliveries
            ]
            is_half = again and len(deliveries) > 1
            self._turns.insist(
                keep,
                still_wanted=lambda: not session.failure,
                transient_tries=1 if is_half else TRANSIENT_TRIES,
            )
        except OutageError:
            session.check()  # Stopping, or the broker is away: they come back.
            return
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # one must not hold back the others
            if self._lifetime.stopping:
                return
            if len(deliveries) == 1:
                self._leave(deliveries[0], error)
                return
            middle = len(deliveries) // 2
            self._collect(session, deliveries[:middle], again=tried)
            self._collect(session, deliveries[middle:], again=tried)
            return
        session.check()
        session.ack(deliveries)
        for arrival in arrivals:
            _tell(arrival)

    def _leave(self, delivery: Delivery, error: Exception) -> None:
        """It stays unacked, and the next session is offered it again."""
        self._exit_code = FAILED
        if not self._once:
            self._reoffer_at = min(self._reoffer_at, time.monotonic() + REOFFER_SECONDS)
        self._left[delivery.queue] += 1
        log.error(
            "dead letter not stored; it stays in its queue",
            consumer=self._consumers[delivery.queue],
            queue=delivery.queue,
            bytes=len(delivery.body),
            reason=type(error).__name__,
            error=sanitised(error),
        )
        if self._left[delivery.queue] == self._prefetch:
            log.error(
                "dead queue blocked by letters that cannot be stored; what is behind them waits",
                queue=delivery.queue,
                letters=self._prefetch,
            )

    def _sweep_when_due(self, *, still_wanted: Callable[[], bool]) -> None:
        started = time.monotonic()
        if started < self._next_sweep:
            return
        try:
            resolved = self._turns.insist(
                lambda: resolve_delivered(using=self._using),
                still_wanted=still_wanted,
                transient_tries=TRANSIENT_TRIES,
            )
        except OutageError:
            return
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # collecting goes on
            self._exit_code = FAILED
            self._next_sweep = time.monotonic() + SWEEP_PAUSE_SECONDS
            log.warning("requeued letters not settled; later again", error=sanitised(error))
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
