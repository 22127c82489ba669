"""How many rows wait and what became of the others: the database's part of the status."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from messaging import registry
from messaging.models import InboxReceipt, OutboxMessage


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


def count_receipts(*, limit_seconds: float) -> dict[str, ConsumerCounts]:
    """The outcomes of every registered consumer, from its own database.

    PostgreSQL gives up by itself after the limit: about a second for two millions of receipts.
    """
    counts: dict[str, ConsumerCounts] = {}
    for database in sorted({each.database for each in registry.consumers()}):
        names = [each.name for each in registry.consumers() if each.database == database]
        with _limited_statements(database, limit_seconds):
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


@contextmanager
def _limited_statements(database: str, seconds: float) -> Iterator[None]:
    """No transaction on SQLite: it would hold the one write lock for as long as the count takes."""
    connection = connections[database]
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=database):
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        yield
