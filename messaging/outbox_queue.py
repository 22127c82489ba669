"""What became of the rows that the relay took: sent, to be tried later, or parked."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from messaging.models import OutboxMessage

PARK_AFTER_TRIES = 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 s: about a minute and a half of trying
LONGEST_DELAY_SECONDS = 30


def mark_sent(rows: Sequence[OutboxMessage], *, using: str) -> None:
    """The broker has confirmed them."""
    OutboxMessage.objects.using(using).pending().filter(id__in=[row.pk for row in rows]).update(
        state=OutboxMessage.State.SENT, sent_at=Now(), last_error=""
    )


def defer(
    rows: Sequence[OutboxMessage], *, tries_before: int, error: str, park: bool, using: str
) -> None:
    """Rows tried equally often could not go: try them later, or park them with the reason."""
    delay = timedelta(seconds=min(2 ** min(tries_before, 10), LONGEST_DELAY_SECONDS))
    OutboxMessage.objects.using(using).pending().filter(id__in=[row.pk for row in rows]).update(
        state=OutboxMessage.State.FAILED if park else OutboxMessage.State.PENDING,
        attempts=min(tries_before + 1, 32_767),
        last_error=error[:500],
        due_at=Now() + delay,
    )


def retry_failed(*, using: str, among: QuerySet[OutboxMessage] | None = None) -> int:
    """Make parked rows due again, their tries forgotten; how many there were.

    All of them, or those among the given rows; a row that is not parked is left as it is.
    """
    rows = OutboxMessage.objects.using(using).failed()
    if among is not None:
        rows = rows.filter(pk__in=among.using(using).order_by().values("pk"))
    return rows.update(state=OutboxMessage.State.PENDING, attempts=0, due_at=Now())
