"""The outbox as the relay sees it: what is due, and what became of it.

State is on the row, never a cursor over ids: ids are handed out before they are committed.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db import connections
from django.db.models import QuerySet
from django.db.models.functions import Now

from messaging.models import OutboxMessage

BATCH_LIMIT = 500
MAX_BATCH_BYTES = 4 * 1024 * 1024
PARK_AFTER_TRIES = 8  # 1 + 2 + 4 + 8 + 16 + 30 + 30 s: about a minute and a half of trying
LONGEST_DELAY_SECONDS = 30
FLOOR_SECONDS = 1.0
LOOK_AT_TRIED_SECONDS = 0.5


class DueRows:
    """Batch after batch of what is due, in order of id.

    A row that was never tried is due at once, by whatever clock it was written. One that was
    tried is due after its delay, and such rows never hold up the others, however many they are.
    """

    def __init__(self, *, using: str) -> None:
        self._using = using
        self._floor, self._floor_until = 0, 0.0
        self._look_at_tried_at = 0.0

    def start_over(self) -> None:
        """Begin again with the oldest: rows that were read went nowhere."""
        self._floor = 0

    def read(self, *, besides: Iterable[int]) -> list[OutboxMessage]:
        """At most BATCH_LIMIT rows, and about MAX_BATCH_BYTES, without those ids (being sent)."""
        excluded = list(besides)
        in_time = time.monotonic() >= self._look_at_tried_at
        rows = self._tried(excluded) if in_time else []
        rows = rows or self._never_tried(excluded)
        return rows or ([] if in_time else self._tried(excluded))

    def any(self) -> bool:
        """Whether any row is due."""
        return any(self._ids(which, [], above=0, limit=1) for which in (_NEVER_TRIED, _TRIED))

    def _tried(self, besides: Sequence[int]) -> list[OutboxMessage]:
        self._look_at_tried_at = time.monotonic() + LOOK_AT_TRIED_SECONDS
        return self._select(_TRIED, besides, above=0)

    def _never_tried(self, besides: Sequence[int]) -> list[OutboxMessage]:
        # The floor keeps a long backlog from being walked again and again; it is dropped every
        # second, since a lower id may be committed after a higher one.
        now = time.monotonic()
        if now >= self._floor_until:
            self._floor, self._floor_until = 0, now + FLOOR_SECONDS
        rows = self._select(_NEVER_TRIED, besides, above=self._floor)
        self._floor = rows[-1].pk if rows else 0
        return rows

    def _select(self, which: str, besides: Sequence[int], *, above: int) -> list[OutboxMessage]:
        # Two questions and no join: a planner that takes a table for nearly empty, since it was
        # when it last looked, joins 500 rows to each row of a backlog. And sizes before bodies:
        # the rows left for the next batch may hold a hundred megabytes.
        ids = self._ids(which, besides, above=above, limit=BATCH_LIMIT)
        if not ids:
            return []
        sql = f"SELECT {_COLUMNS} FROM {_TABLE} WHERE id IN ({_listed(ids)}) ORDER BY id"
        return list(OutboxMessage.objects.using(self._using).raw(sql))

    def _ids(self, which: str, besides: Sequence[int], *, above: int, limit: int) -> list[int]:
        """The first of these rows, up to the one with which MAX_BATCH_BYTES are reached."""
        connection = connections[self._using]
        excluded = f"AND id NOT IN ({_listed(besides)})" if besides else ""
        sql = f"""
            SELECT id, LENGTH(body) + LENGTH(header_table) FROM {_TABLE}
            WHERE state = 'pending' AND id > %s AND {which.format(**_CLOCKS[connection.vendor])}
            {excluded} ORDER BY id LIMIT %s
        """  # names from the model, integers, and the conditions below
        with connection.cursor() as cursor:
            cursor.execute(sql, [above, limit])
            sizes = cursor.fetchall()
        ids: list[int] = []
        size_before = 0
        for row_id, size in sizes:
            if size_before >= MAX_BATCH_BYTES:
                break
            ids.append(row_id)
            size_before += size
        return ids


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


def _listed(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


_TABLE = OutboxMessage._meta.db_table
_COLUMNS = (
    "id, event_id, message_id, type, material_id, revision, body, header_table, consumer, attempts,"
    " last_error, created_at"
)
_NEVER_TRIED = "attempts = 0"
# No delay is longer than LONGEST_DELAY_SECONDS: beyond a minute the clock was set back.
_TRIED = "attempts > 0 AND (due_at <= {now} OR due_at > {in_a_minute})"
_CLOCKS = {
    "postgresql": {
        "now": "statement_timestamp()",
        "in_a_minute": "statement_timestamp() + interval '1 minute'",
    },
    "sqlite": {
        "now": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "in_a_minute": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+1 minute')",
    },
}
