"""From the outbox to the broker: read, publish, wait for confirms, mark.

Who holds a message after each step: until the broker's confirm the outbox alone (a crash
changes nothing); between the confirm and the UPDATE both (it is published again, with the
same eventId); after the UPDATE the broker. While the broker confirms one batch, the next is
read and the one before is marked. No transaction is open while the broker is waited for.
"""

import time
from collections import deque
from collections.abc import Sequence
from functools import partial

import structlog
from django.db import Error, transaction

from messaging.broker.confirms import Batch
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.broker.topology import Topology
from messaging.errors import ConfigurationError, DeliveryError, OutageError
from messaging.operating.pauses import PauseWatch
from messaging.registry import RELAY
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.logs import log_many
from messaging.running.process import Lifetime
from messaging.sending import bulk_pace, outbox_queue, relay_connection
from messaging.sending.bulk_pace import BulkPace
from messaging.sending.due_rows import DueRows
from messaging.sending.leadership import STANDBY_SECONDS, Leadership
from messaging.sending.messages import message_of, names_of
from messaging.sending.rows import OutboxRow
from messaging.sending.verdicts import Judgement, grouped, judge
from messaging.sending.wakeup import bell
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)

# Two are at the broker while one is marked and another read.
BATCHES_IN_FLIGHT = 3
POLL_SECONDS = 1.0

Rows = Sequence[OutboxRow]


class Relay:
    """One relay process. Several may run: one leads, the others are ready to."""

    def __init__(
        self,
        topology: Topology,
        lifetime: Lifetime,
        *,
        using: str,
        once: bool = False,
    ) -> None:
        self._topology = topology
        self._lifetime = lifetime
        self._using = using
        self._once = once
        self._turns = DatabaseTurns(using, lifetime, prepare=relay_connection.prepare)
        self._pause = PauseWatch(RELAY, lifetime)
        self._leadership = Leadership("relay", using=using)
        self._leads = False
        self._due = DueRows(using=using)
        self._bulk_pace = BulkPace()
        self._due_elsewhere = False
        self._is_paused = False
        self._bell = bell(using)
        self._in_flight: deque[tuple[Batch, Rows, bool]] = deque()  # True: nothing beside it
        self._channel = 0  # the one on which all that is in flight went out
        self._suspects: set[int] = set()
        self._undelivered: set[int] = set()

    def run(self) -> int:
        """Relay until stopped, or with `once` until nothing is due; the exit code.

        Raises ConfigurationError for what waiting cannot mend, and OutageError when a stop is
        asked for while the database is away at the very beginning.
        """
        try:
            serve_until_done(self._serve, self._lifetime, name="relay_outbox")
        finally:
            self._bell.close()
            self._release()
        return FAILED if self._once and (self._undelivered or self._is_paused) else DONE

    def _serve(self, session: Session) -> None:
        log.info("relaying")
        self._due.start_over()
        self._bulk_pace.start_over()
        while not (self._lifetime.stopping or session.failure):
            self._is_paused = self._pause.holds()
            if self._once and self._is_paused:
                log.error("paused: nothing more is sent, resume it first")
                break
            try:
                leads, rows = self._turns.insist(
                    partial(self._look, self._bulk_room(session)),
                    still_wanted=lambda: not session.failure,
                )
            except OutageError:
                break
            self._tell_leadership(leads)
            if self._once and not (rows or self._in_flight or self._due_elsewhere):
                return
            if rows:
                self._publish(session, rows)
            elif not self._in_flight:
                self._idle(session)
            self._settle(session, leave=BATCHES_IN_FLIGHT - 1 if rows else 0)
        self._settle(session, leave=0)
        session.check()

    def _bulk_room(self, session: Session) -> int | None:
        """How many bulk rows may go: as many as the consumers soon get through; None for any."""
        if self._once:
            return None  # Nobody is there who would wait for the rest.
        if (depths := session.take_depths()) is not None:
            self._bulk_pace.saw(
                {name: ready for name, ready in depths.items() if ready is not None}
            )
        if self._due.bulk_waits and self._bulk_pace.wants_look():
            session.ask_depths(self._topology.main_names())
        return self._bulk_pace.room(in_flight=sum(len(rows) for _, rows, _ in self._in_flight))

    def _look(self, bulk_room: int | None) -> tuple[bool, list[OutboxRow]]:
        leads = self._leadership.hold()
        in_flight = [row.pk for _, rows, _ in self._in_flight for row in rows]
        rows: list[OutboxRow] = []
        if leads and not self._is_paused:
            rows = self._due.read(besides=in_flight, bulk_limit=bulk_room)
        self._due_elsewhere = self._once and not leads and self._due.any()
        return leads, rows

    def _publish(self, session: Session, rows: Rows) -> None:
        for group, alone in grouped(rows, suspects=self._suspects):
            lost = self._settle(session, leave=0 if alone else BATCHES_IN_FLIGHT - 1)
            if lost or session.failure or self._lifetime.stopping:
                return  # What was lost comes before these.
            if not self._in_flight:
                self._channel = session.channels
            messages = [message_of(row, self._topology) for row in group]
            batch = session.submit(
                messages, channel=self._channel, standing=self._topology.main_names()
            )
            self._in_flight.append((batch, group, alone))
            if alone and self._settle(session, leave=0):
                return

    def _settle(self, session: Session, *, leave: int) -> bool:
        """Wait for the oldest batches and mark their rows, until so many are in flight.

        True when rows went nowhere; then nothing is in flight, and the oldest are read again.
        """
        lost = False
        while len(self._in_flight) > (0 if lost else leave):
            batch, rows, alone = self._in_flight[0]
            judgement = judge(rows, session.settle(batch), alone=alone)
            self._in_flight.popleft()
            try:
                self._turns.insist(partial(self._mark, judgement), still_wanted=lambda: True)
            except OutageError:
                log.warning("confirmed but not marked; sent again later", rows=len(rows))
            else:
                self._note(judgement)
            if judgement.fault:
                raise ConfigurationError(judgement.fault)
            lost |= bool(judgement.suspected or judgement.unknown)
        if lost:
            self._due.start_over()
        return lost

    def _mark(self, judgement: Judgement) -> None:
        self._leadership.hold()  # a long row of single messages must not outlast the lease
        with transaction.atomic(using=self._using):
            relay_connection.wait_for_no_disk(using=self._using)
            self._write(judgement)

    def _write(self, judgement: Judgement) -> None:
        if judgement.sent:
            outbox_queue.mark_sent([row.pk for row in judgement.sent], using=self._using)
        for refusal, rows in judgement.refused.items():
            outbox_queue.defer(
                [row.pk for row in rows],
                tries_before=refusal.tries_before,
                error=refusal.error,
                park=refusal.park,
                using=self._using,
            )

    def _note(self, judgement: Judgement) -> None:
        """Keep in mind and tell what has been marked."""
        refused = [row for rows in judgement.refused.values() for row in rows]
        self._bulk_pace.confirmed(len(judgement.sent))
        self._suspects.difference_update(row.pk for row in [*judgement.sent, *refused])
        self._suspects.update(row.pk for row in judgement.suspected)
        if self._once:
            self._undelivered.difference_update(row.pk for row in judgement.sent)
            self._undelivered.update(row.pk for row in refused)
        log_many(__name__, "sent", [names_of(row) for row in judgement.sent])
        for refusal, rows in judgement.refused.items():
            for row in rows:
                log.error(
                    "parked" if refusal.park else "not delivered",
                    **names_of(row),
                    tries=refusal.tries_before + 1,
                    reason=refusal.error,
                )

    def _idle(self, session: Session) -> None:
        if not self._leads:
            session.wait(lambda: False, STANDBY_SECONDS)
            return
        bulk_waits = self._due.bulk_waits and not self._is_paused
        poll_seconds = bulk_pace.LOOK_SECONDS if bulk_waits else POLL_SECONDS
        end = time.monotonic() + poll_seconds
        while not (self._lifetime.stopping or session.failure):
            seconds = min(self._bell.interval_seconds, end - time.monotonic())
            rang = session.wait(
                lambda: self._bell.rang() or session.has_depths(),
                seconds,
                fileno=self._bell.fileno(),
            )
            if rang or time.monotonic() >= end:
                return

    def _tell_leadership(self, leads: bool) -> None:
        if leads != self._leads:
            self._leads = leads
            log.info("leading" if leads else "standing by")

    def _release(self) -> None:
        try:
            with self._turns.turn():
                self._leadership.release()
        except (Error, DeliveryError) as error:
            # The lease runs out by itself; what ended the relay must not be hidden by this.
            log.warning("the lease was not released", reason=sanitised(error))
