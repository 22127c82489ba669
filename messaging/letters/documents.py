"""A letter as the JSON that the contract names."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from messaging.models import DeadLetter, OperatorDecision


def summary(letter: DeadLetter) -> dict[str, Any]:
    """One entry of `dead_letters list --json`. Reads no payload."""
    return {
        "id": letter.pk,
        "consumer": letter.consumer,
        "eventId": str(letter.event_id) if letter.event_id else None,
        "materialId": letter.material_id,
        "revision": letter.revision,
        "reason": letter.reason,
        "attempt": letter.attempt,
        "state": letter.state,
        "diedAt": moment(letter.died_at),
    }


def whole(letter: DeadLetter) -> dict[str, Any]:
    """`dead_letters show --json`: the summary, the exact body, and all that was decided."""
    return {
        **summary(letter),
        "bodyBase64": b64encode(bytes(letter.body)).decode("ascii"),
        "headers": letter.headers,
        "properties": letter.properties,
        "error": letter.error,
        "history": [
            {
                "at": moment(line.at),
                "operator": line.operator,
                "action": line.action,
                "note": line.note,
            }
            for line in history(letter)
        ],
    }


def history(letter: DeadLetter) -> Iterable[OperatorDecision]:
    """What was decided over it, the oldest first; who has looked at it is no part of that."""
    return letter.decisions.exclude(action=OperatorDecision.Action.VIEW_PAYLOAD).order_by("pk")


def moment(at: datetime) -> str:
    """RFC 3339 in UTC, ending in Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
