"""Outbox rows that the relay has given up: due again once a person decides so.

Called by the admin and by `relay_outbox --retry-failed`; the relay then finds them as it finds
every other row that is due.
"""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from messaging.models import OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator, entry
from messaging.outbox import wake_relay
from messaging.sending import outbox_queue

# A decision may be about a million rows; its line in the log names the first.
NAMED_ROWS = 100


def retry_failed(
    *, operator: Operator, using: str, among: QuerySet[OutboxMessage] | None = None
) -> int:
    """Make parked rows due again, with a line in the decision log; how many there were.

    All of them, or those among the given rows. Where there is none, nothing is logged.
    """
    parked = outbox_queue.parked(using=using, among=among)
    with transaction.atomic(using=using):
        named = list(parked.order_by("pk").values_list("pk", flat=True)[:NAMED_ROWS])
        count = outbox_queue.retry_failed(using=using, among=among)
        if count:
            detail: dict[str, Any] = {"rows": named, "count": count}
            line = entry(OperatorDecision.Action.RETRY_OUTBOX, operator, detail=detail)
            line.save(using=using)
            wake_relay(using=using)
    return count
