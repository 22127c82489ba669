"""From the outbox to the broker: read, publish, wait for confirms, mark.

Who holds a message after each step: until the broker's confirm the outbox alone (a crash
changes nothing); between the confirm and the UPDATE both (it is published again, with the
same eventId); after the UPDATE the broker. While the broker confirms one batch, the next is
read and the one before is marked. No transaction is open while the broker is waited for.
"""

import time
from collections import deque
from collections.abc import Sequence

import structlog

from messaging import outbox_queue
from messaging.broker import field_table
from messaging.broker.confirms import Batch, Result, Verdict
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.broker.topology import Topology
from messaging.broker.wire import Message
from messaging.database_turns import DatabaseTurns
from messaging.errors import OutageError
from messaging.leadership import STANDBY_SECONDS, Leadership
from messaging.models import OutboxMessage
from messaging.process import DONE, FAILED, Lifetime
from messaging.wakeup import bell

log = structlog.get_logger(__name__)

BATCH_LIMIT = 500
BATCHES_IN_FLIGHT = 2
POLL_SECONDS = 1.0

Rows = Sequence[OutboxMessage]


class Relay:
    """One relay process. Several may run: one leads, the others are ready to."""

    def __init__(
        self, topology: Topology, lifetime: Lifetime, *, using: str, once: bool = False
    ) -> None:
        self._topology = topology
        self._lifetime = lifetime
        self._using = using
        self._once = once
        self._turns = DatabaseTurns(using, lifetime)
        self._leadership = Leadership("relay", using=using)
        self._leads = False
        self._due_elsewhere = False
        self._bell = bell(using)
        self._in_flight: deque[tuple[Batch, Rows]] = deque()
        self._suspects: set[int] = set()
        self._floor, self._floor_until = 0, 0.0
        self._undelivered: set[int] = set()

    def run(self) -> int:
        """Relay until stopped, or with `once` until nothing is due; the exit code.

        Raises ConfigurationError for what waiting cannot mend.
        """
        try:
            serve_until_done(self._serve, self._lifetime, name="relay_outbox")
        finally:
            self._bell.close()
            self._release()
        return FAILED if self._once and self._undelivered else DONE

    def _serve(self, session: Session) -> None:
        log.info("relaying")
        while not (self._lifetime.stopping or session.failure):
            try:
                leads, rows = self._turns.insist(
                    self._look, still_wanted=lambda: not session.failure
                )
            except OutageError:
                break
            self._tell_leadership(leads)
            if self._once and not (rows or self._in_flight or self._due_elsewhere):
                return
            if rows:
                self._publish(session, rows)
            elif not self._in_flight:
                self._idle(session, POLL_SECONDS if leads else STANDBY_SECONDS)
            while self._in_flight and (not rows or len(self._in_flight) >= BATCHES_IN_FLIGHT):
                self._settle_oldest(session)
        while self._in_flight:
            self._settle_oldest(session)
        session.check()

    def _look(self) -> tuple[bool, list[OutboxMessage]]:
        leads = self._leadership.hold()
        rows = self._read() if leads else []
        if self._once and not leads:
            due = outbox_queue.read_due(limit=1, besides=[], above=0, using=self._using)
            self._due_elsewhere = bool(due)
        else:
            self._due_elsewhere = False
        return leads, rows

    def _read(self) -> list[OutboxMessage]:
        # The floor keeps a long backlog from being walked again and again; it is dropped every
        # second, since a lower id may be committed after a higher one.
        now = time.monotonic()
        if now >= self._floor_until:
            self._floor, self._floor_until = 0, now + 1.0
        rows = outbox_queue.read_due(
            limit=BATCH_LIMIT,
            besides=[row.pk for _, rows in self._in_flight for row in rows],
            above=self._floor,
            using=self._using,
        )
        self._floor = rows[-1].pk if rows else 0
        return rows

    def _publish(self, session: Session, rows: Rows) -> None:
        if any(row.attempts or row.pk in self._suspects for row in rows):
            # One of these may make the broker close the channel. Each goes alone, in order, so
            # that no other is held responsible.
            for row in rows:
                if session.failure or self._lifetime.stopping:
                    return
                self._in_flight.append((session.submit([self._message(row)]), [row]))
                while self._in_flight:
                    self._settle_oldest(session)
        else:
            batch = session.submit([self._message(row) for row in rows])
            self._in_flight.append((batch, rows))

    def _settle_oldest(self, session: Session) -> None:
        batch, rows = self._in_flight[0]
        results = session.settle(batch)
        self._in_flight.popleft()
        try:
            self._turns.insist(lambda: self._mark(rows, results), still_wanted=lambda: True)
        except OutageError:
            log.warning("confirmed but not marked; sent again later", rows=len(rows))

    def _mark(self, rows: Rows, results: Sequence[Result]) -> None:
        sent = [
            row
            for row, result in zip(rows, results, strict=True)
            if result.verdict is Verdict.CONFIRMED
        ]
        if sent:
            outbox_queue.mark_sent(sent, using=self._using)
            self._suspects.difference_update(row.pk for row in sent)
            self._undelivered.difference_update(row.pk for row in sent)
            self._log_sent(sent)
        for row, result in zip(rows, results, strict=True):
            self._judge(row, result, alone=len(rows) == 1)

    def _judge(self, row: OutboxMessage, result: Result, *, alone: bool) -> None:
        match result.verdict:
            case Verdict.CONFIRMED | Verdict.UNKNOWN:
                return
            case Verdict.SUSPECT if not alone:
                self._suspects.add(row.pk)
                return
            case Verdict.UNENCODABLE:
                park = True
            case Verdict.NACKED:
                park = False  # a full queue is no fault of the row; it goes when there is room
            case _:
                park = row.attempts + 1 >= outbox_queue.PARK_AFTER_TRIES
        self._undelivered.add(row.pk)
        error = f"{result.verdict}: {result.detail}"
        outbox_queue.defer(row, error=error, park=park, using=self._using)
        log.error(
            "parked" if park else "not delivered",
            eventId=_id(row),
            materialId=row.material_id or None,
            revision=row.revision,
            tries=row.attempts + 1,
            reason=error,
        )

    def _idle(self, session: Session, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not (self._lifetime.stopping or session.failure):
            left = end - time.monotonic()
            if left <= 0:
                return
            interval_seconds = min(left, self._bell.interval_seconds)
            if session.wait(self._bell.rang, interval_seconds, fileno=self._bell.fileno()):
                return

    def _message(self, row: OutboxMessage) -> Message:
        redrive = bool(row.consumer)
        return Message(
            exchange=self._topology.resume if redrive else self._topology.events,
            routing_key=row.consumer if redrive else row.type,
            body=bytes(row.body),
            message_id=str(row.event_id) if row.event_id else row.message_id or None,
            type=row.type or None,
            timestamp=int(row.created_at.timestamp()),
            headers=_headers(row),
        )

    def _tell_leadership(self, leads: bool) -> None:
        if leads != self._leads:
            self._leads = leads
            log.info("leading" if leads else "standing by")

    def _release(self) -> None:
        try:
            with self._turns.turn():
                self._leadership.release()
        except OutageError:
            pass  # The lease runs out by itself.

    def _log_sent(self, rows: Rows) -> None:
        for row in rows:
            log.info(
                "sent",
                eventId=_id(row),
                materialId=row.material_id or None,
                revision=row.revision,
                consumer=row.consumer or None,
            )


def _headers(row: OutboxMessage) -> field_table.Table:
    table = bytes(row.header_table)
    headers = field_table.decode_table(table, 0)[0] if table else {}
    headers["attempt"] = 0
    return headers


def _id(row: OutboxMessage) -> str | None:
    return str(row.event_id) if row.event_id else None
