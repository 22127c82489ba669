"""The delivery records: what is to be sent, what was handled, what failed, what was decided.

Uniqueness, and the states that somebody acts on, stand in the database; code that races is
decided there.
"""

from messaging.models.dead_letters import Correction, DeadLetter, DeadLetterQuerySet, Death
from messaging.models.decisions import OperatorBatch, OperatorDecision
from messaging.models.inbox import FailedAttempt, InboxReceipt
from messaging.models.outbox import OutboxMessage, OutboxQuerySet, RelayLease
from messaging.models.pauses import Pause, PauseQuerySet

__all__ = [
    "Correction",
    "DeadLetter",
    "DeadLetterQuerySet",
    "Death",
    "FailedAttempt",
    "InboxReceipt",
    "OperatorBatch",
    "OperatorDecision",
    "OutboxMessage",
    "OutboxQuerySet",
    "Pause",
    "PauseQuerySet",
    "RelayLease",
]
