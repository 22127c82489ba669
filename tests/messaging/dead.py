"""Dead letters for tests of the console: recorded as the collector does, without a broker."""

from datetime import UTC, datetime
from typing import Any

from messaging.broker.wire import Delivery
from messaging.envelope import Event
from messaging.letters.arrivals import read_arrival
from messaging.letters.intake import take_in
from messaging.models import DeadLetter


def died(
    body: bytes | Event,
    *,
    consumer: str = "catalog",
    reason: str | None = "SimulatedTransientError",
    attempt: Any = 3,
    headers: dict[Any, Any] | None = None,
    at: datetime | None = None,
    **properties: Any,
) -> DeadLetter:
    """The record of this copy; given twice, it is a further copy of the same."""
    raw = body.body if isinstance(body, Event) else body
    table: dict[Any, Any] = dict(headers or {})
    table |= {} if attempt is None else {"attempt": attempt}
    table |= {} if reason is None else {"reason": reason, "consumer": consumer}
    now = at or datetime.now(UTC)
    named = {"message_id": body.event_id, "type": body.type} if isinstance(body, Event) else {}
    known = {"timestamp": int(now.timestamp()), **named, **properties}
    delivery = Delivery(
        tag=1,
        redelivered=False,
        body=raw,
        message_id=known.get("message_id"),
        type=known.get("type"),
        headers=table,
        properties=known,
        queue=f"unset.{consumer}.dead",
    )
    arrival = read_arrival(delivery, consumer=consumer, now=datetime.now(UTC))
    take_in([arrival], using="default")
    return DeadLetter.objects.get(consumer=consumer, body_sha256=arrival.sha256)
