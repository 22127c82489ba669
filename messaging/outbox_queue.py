"""The outbox as the relay sees it: what is due, and what became of it.

State is on the row, never a cursor over ids: ids are handed out before they are committed.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db import connections
from django.db.models import QuerySet
from django.db.models.functions import Now

from messaging.models import OutboxMessage

MAX_BATCH_BYTES = 4 * 1024 * 1024
PARK_AFTER_TRIES = 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 s: about a minute and a half of trying
LONGEST_DELAY_SECONDS = 30


def read_due(*, limit: int, besides: Iterable[int], above: int, using: str) -> list[OutboxMessage]:
    """The oldest due rows in order of id, at most `limit` and about MAX_BATCH_BYTES of bodies.

    Leaves out the ids of `besides` (being sent) and all ids up to `above`.
    """
    now = "statement_timestamp()"
    if connections[using].vendor == "sqlite":
        now = "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"
    excluded = ",".join(map(str, besides))
    unsent = f"AND id NOT IN ({excluded})" if excluded else ""
    sql = f"""
        SELECT {_COLUMNS} FROM (
            SELECT due.*, SUM(LENGTH(body)) OVER (ORDER BY id) - LENGTH(body) AS bytes_before
            FROM (
                SELECT {_COLUMNS} FROM {_TABLE}
                WHERE state = 'pending' AND id > %s AND due_at <= {now} {unsent}
                ORDER BY id LIMIT %s
            ) AS due
        ) AS counted
        WHERE bytes_before < %s ORDER BY id
    """  # names from the model, and integers
    return list(OutboxMessage.objects.using(using).raw(sql, [above, limit, MAX_BATCH_BYTES]))


def mark_sent(rows: Sequence[OutboxMessage], *, using: str) -> None:
    """The broker has confirmed them."""
    OutboxMessage.objects.using(using).pending().filter(id__in=[row.pk for row in rows]).update(
        state=OutboxMessage.State.SENT, sent_at=Now(), last_error=""
    )


def defer(row: OutboxMessage, *, error: str, park: bool, using: str) -> None:
    """The row could not go: try it later, or park it as failed with its reason."""
    tries = min(row.attempts + 1, 32_767)
    delay = timedelta(seconds=min(2 ** min(row.attempts, 10), LONGEST_DELAY_SECONDS))
    OutboxMessage.objects.using(using).pending().filter(pk=row.pk).update(
        state=OutboxMessage.State.FAILED if park else OutboxMessage.State.PENDING,
        attempts=tries,
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


_TABLE = OutboxMessage._meta.db_table
_COLUMNS = (
    "id, event_id, message_id, type, material_id, revision, body, header_table, consumer, attempts,"
    " created_at"
)
