"""Lines of the decision log, and the person who is written into them.

The caller saves a line in the transaction of what it tells of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from messaging.models import DeadLetter, OperatorBatch, OperatorDecision
from messaging.running.inert_text import storable


@dataclass(frozen=True)
class Operator:
    """Who decides, and from where. The name is kept even where the account is deleted later."""

    name: str
    user_id: int | None = None
    source_ip: str | None = None


# What nobody decided: a receipt appeared, a copy died again. No account stands behind it.
DELIVERY = Operator("delivery")


def entry(
    action: OperatorDecision.Action,
    operator: Operator,
    *,
    letter: DeadLetter | None = None,
    note: str = "",
    batch: OperatorBatch | None = None,
    detail: Mapping[str, Any] | None = None,
) -> OperatorDecision:
    """One line, not saved yet; what no database stores of its texts stands as an escape."""
    return OperatorDecision(
        action=action,
        operator=storable(operator.name)[:150],
        user_id=operator.user_id,
        source_ip=operator.source_ip,
        letter=letter,
        note=storable(note),
        batch=batch,
        detail=dict(detail or {}),
    )
