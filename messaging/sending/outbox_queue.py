"""What became of the rows that the relay took: sent, to be tried later, or parked."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import connections
from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce, Now
from django.db.models.lookups import Exact

from messaging.models import OutboxMessage
from messaging.sending.rows import among

PARK_AFTER_TRIES = 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 s: about a minute and a half of trying
LONGEST_DELAY_SECONDS = 30


def mark_sent(ids: Sequence[int], *, using: str) -> None:
    """The broker has confirmed these rows."""
    connection = connections[using]
    # Not by the ORM: 500 parameters cost it, and the driver, more than all the rest.
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {OutboxMessage._meta.db_table} SET state = 'sent', last_error = '',"
            f" sent_at = {_NOW[connection.vendor]} WHERE {among(ids, connection.vendor)}"
            " AND COALESCE(state, '') = 'pending'"
        )


def defer(ids: Sequence[int], *, tries_before: int, error: str, park: bool, using: str) -> None:
    """Rows tried equally often could not go: try them later, or park them with the reason."""
    delay = timedelta(seconds=min(2 ** min(tries_before, 10), LONGEST_DELAY_SECONDS))
    OutboxMessage.objects.using(using).filter(_IS_PENDING, id__in=ids).update(
        state=OutboxMessage.State.FAILED if park else OutboxMessage.State.PENDING,
        attempts=min(tries_before + 1, 32_767),
        last_error=error[:500],
        due_at=Now() + delay,
    )


def parked(*, using: str, among: QuerySet[OutboxMessage]) -> QuerySet[OutboxMessage]:
    """Those of the given rows that were given up."""
    given = among.using(using).order_by().values("pk")
    return OutboxMessage.objects.using(using).failed().filter(pk__in=given)


def retry_failed(parked: QuerySet[OutboxMessage]) -> int:
    """Make those parked rows due again, their tries forgotten; how many there were."""
    return parked.update(state=OutboxMessage.State.PENDING, attempts=0, due_at=Now())


# Found by their ids: with `state = 'pending'` itself, a planner may go through all of a backlog by
# an index of what is pending.
_IS_PENDING = Exact(Coalesce("state", Value("")), Value(OutboxMessage.State.PENDING))
# As Django's Now() writes it.
_NOW = {
    "postgresql": "STATEMENT_TIMESTAMP()",
    "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')",
}
