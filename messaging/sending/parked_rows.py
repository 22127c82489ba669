"""Outbox rows that the relay has given up: due again once a person decides so.

Called by the admin and by `relay_outbox --retry-failed`; the relay then finds them as it finds
every other row that is due.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from messaging.models import OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator, entry
from messaging.outbox import wake_relay
from messaging.sending import outbox_queue
from messaging.storing.database_turns import DatabaseTurns

PIECE_ROWS = 2000
# A line in the log names the first of its rows.
NAMED_ROWS = 100


def retry_failed(*, operator: Operator, using: str, among: QuerySet[OutboxMessage]) -> int:
    """Make those parked rows due again, with a line in the decision log; how many there were.

    In one transaction. A row that is not parked is left as it is. Where there is none, nothing is
    logged.
    """
    return _retry(outbox_queue.parked(using=using, among=among), operator=operator, using=using)


def retry_all_failed(
    *,
    operator: Callable[[], Operator],
    turns: DatabaseTurns,
    using: str,
    stopping: Callable[[], bool],
) -> int:
    """Make every row due again that is parked now; how many were, until stopping or to the end.

    In pieces of at most PIECE_ROWS rows, each a turn and a transaction of its own with its
    line in the decision log: no number of rows is too many for a statement's time, and what is
    done stays done. Raises as `DatabaseTurns.insist`.
    """
    rows = OutboxMessage.objects.using(using)
    insist = partial(turns.insist, still_wanted=lambda: True)
    newest = insist(lambda: rows.failed().aggregate(newest=Max("pk"))["newest"])
    count = after = 0
    while newest is not None and after < newest and not stopping():

        def retry_some(after: int = after) -> tuple[int, int]:
            waiting = rows.failed().filter(pk__gt=after, pk__lte=newest).order_by("pk")
            end = max(waiting.values_list("pk", flat=True)[:PIECE_ROWS], default=newest)
            # As a stretch of ids, which a planner that has no statistics yet meets by an index.
            piece = waiting.filter(pk__lte=end)
            return _retry(piece, operator=operator(), using=using), end

        retried, after = insist(retry_some)
        count += retried
    return count


def _retry(parked: QuerySet[OutboxMessage], *, operator: Operator, using: str) -> int:
    with transaction.atomic(using=using):
        named = list(parked.order_by("pk").values_list("pk", flat=True)[:NAMED_ROWS])
        count = outbox_queue.retry_failed(parked.order_by())
        if count:
            detail: dict[str, Any] = {"rows": named, "count": count}
            line = entry(OperatorDecision.Action.RETRY_OUTBOX, operator, detail=detail)
            line.save(using=using)
            wake_relay(using=using)
    return count
