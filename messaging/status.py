"""The state of delivery at one moment: what `delivery_status` and the operators' pages show."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections, transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from messaging import registry
from messaging.broker.inspection import QueueDepth, inspect_queues
from messaging.broker.sessions import topology
from messaging.error_texts import sanitised
from messaging.errors import DeliveryError
from messaging.models import DeadLetter, InboxReceipt, OutboxMessage
from messaging.time_limits import Overdue, answer_within

DATABASE_LIMIT_SECONDS = 10.0
BROKER_LIMIT_SECONDS = 2.0
OVERDUE_AFTER_SECONDS = 60


@dataclass(frozen=True)
class OutboxState:
    """Rows that wait for the relay, rows that it has given up, and the longest wait."""

    pending: int = 0
    failed: int = 0
    oldest_pending_seconds: float | None = None


@dataclass(frozen=True)
class ConsumerCounts:
    """What became of the events that one consumer has handled since its first receipt."""

    applied: int = 0
    duplicate: int = 0
    stale: int = 0


@dataclass(frozen=True)
class DeliveryStatus:
    """A look at database and broker; what could not be seen is empty and named in `problems`."""

    outbox: OutboxState
    broker_reachable: bool
    queues: Mapping[str, QueueDepth]
    consumers: Mapping[str, ConsumerCounts]
    dead_letters_open: int
    problems: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, object]:
        """The document that the contract names."""
        return {
            "healthy": self.healthy,
            "problems": self.problems,
            "outbox": {
                "pending": self.outbox.pending,
                "failed": self.outbox.failed,
                "oldestPendingSeconds": self.outbox.oldest_pending_seconds,
            },
            "broker": {"reachable": self.broker_reachable},
            "queues": [
                {"name": name, "ready": depth.ready, "consumers": depth.consumers}
                for name, depth in self.queues.items()
            ],
            "consumers": {
                name: {
                    "applied": counts.applied,
                    "duplicate": counts.duplicate,
                    "stale": counts.stale,
                }
                for name, counts in self.consumers.items()
            },
            "deadLetters": {"open": self.dead_letters_open},
        }


def read_status() -> DeliveryStatus:
    """Look at everything. Takes at most DATABASE_LIMIT_SECONDS and then BROKER_LIMIT_SECONDS.

    Never raises for what is away: that is a problem of the status, not of the asker. Opens
    connections of its own, so it sees what is committed. Open dead letters are those recorded
    and undecided, and the messages in the dead queues that nobody has collected yet. Receipts
    are counted as they stand: about a second for some millions, which is why nothing on the
    way of a fact asks for it.
    """
    problems: list[str] = []
    try:
        outbox, consumers, letters = answer_within(
            DATABASE_LIMIT_SECONDS,
            lambda: (read_outbox(), count_receipts(), DeadLetter.objects.open().count()),
        )
        problems += _outbox_problems(outbox)
        if letters:
            problems.append(f"dead letters: {letters} open, waiting for a decision")
    except (Error, Overdue) as error:
        outbox, letters = OutboxState(), 0
        consumers = {each.name: ConsumerCounts() for each in _known()}
        problems.append(_database_problem(error))
    depths: Mapping[str, QueueDepth | None] = {}
    reachable = True
    try:
        depths = inspect_queues(
            settings.AMQP, topology().queue_names(), timeout_seconds=BROKER_LIMIT_SECONDS
        )
    except DeliveryError as error:
        reachable = False
        problems.append(f"broker: {error}")
    problems += _queue_problems(depths)
    found = {name: depth for name, depth in depths.items() if depth is not None}
    return DeliveryStatus(
        outbox=outbox,
        broker_reachable=reachable,
        queues=found,
        consumers=consumers,
        dead_letters_open=letters
        + sum(found[name].ready for name in _dead_queues() if name in found),
        problems=problems,
    )


def read_outbox(*, using: str = DEFAULT_DB_ALIAS) -> OutboxState:
    """Pending and failed rows; the age of the oldest pending one by the database's clock.

    The oldest is the one of the lowest id, which an index gives at once.
    """
    rows = OutboxMessage.objects.using(using)
    oldest = (
        rows.pending().order_by("id").annotate(now=Now()).values_list("now", "created_at").first()
    )
    return OutboxState(
        pending=rows.pending().count(),
        failed=rows.failed().count(),
        oldest_pending_seconds=max(0.0, (oldest[0] - oldest[1]).total_seconds())
        if oldest
        else None,
    )


def count_receipts() -> dict[str, ConsumerCounts]:
    """The outcomes of every registered consumer, from its own database."""
    counts: dict[str, ConsumerCounts] = {}
    for database in sorted({each.database for each in _known()}):
        names = [each.name for each in _known() if each.database == database]
        with transaction.atomic(using=database):
            _limit_statements(database)
            rows = (
                InboxReceipt.objects.using(database)
                .filter(consumer__in=names)
                .order_by()
                .values("consumer")
                .annotate(
                    applied=Count("id", filter=Q(outcome=InboxReceipt.Outcome.APPLIED)),
                    stale=Count("id", filter=Q(outcome=InboxReceipt.Outcome.STALE)),
                    repeated=Sum("duplicates"),
                )
            )
            found: dict[str, Any] = {row["consumer"]: row for row in rows}
        for name in names:
            row = found.get(name, {})
            counts[name] = ConsumerCounts(
                applied=row.get("applied", 0),
                duplicate=row.get("repeated", 0) or 0,
                stale=row.get("stale", 0),
            )
    return dict(sorted(counts.items()))


def _known() -> tuple[registry.Consumer, ...]:
    return registry.consumers()


def _dead_queues() -> list[str]:
    return [topology().dead(each.name) for each in _known()]


def _limit_statements(database: str) -> None:
    """Let the server give up as well when the asker does."""
    connection = connections[database]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            milliseconds = int(DATABASE_LIMIT_SECONDS * 1000)
            cursor.execute(f"SET LOCAL statement_timeout = {milliseconds}")


def _outbox_problems(outbox: OutboxState) -> Iterator[str]:
    if outbox.failed:
        yield f"outbox: {outbox.failed} failed, to be tried again by an operator"
    waits = outbox.oldest_pending_seconds or 0.0
    if waits > OVERDUE_AFTER_SECONDS:
        yield f"outbox: the oldest of {outbox.pending} pending waits for {waits:.0f} s"


def _queue_problems(depths: Mapping[str, QueueDepth | None]) -> Iterator[str]:
    mains = {topology().main(each.name) for each in _known()}
    dead = set(_dead_queues())
    for name, depth in depths.items():
        if depth is None:
            yield f"queue {name}: missing; run declare_topology"
        elif name in mains and not depth.consumers:
            yield f"queue {name}: no consumer"
        elif name in dead and depth.ready:
            yield f"queue {name}: {depth.ready} dead, to be collected"


def _database_problem(error: Exception) -> str:
    if isinstance(error, Overdue):
        return f"database: no answer within {DATABASE_LIMIT_SECONDS:.0f} s"
    return f"database: {sanitised(error)}"
