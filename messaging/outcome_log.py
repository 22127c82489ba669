"""One record for what became of one delivered message: names and outcome, never a body."""

import structlog

from messaging.envelope import Event
from messaging.error_texts import sanitised
from messaging.registry import Consumer, Outcome

log = structlog.get_logger(__name__)


def tell_outcome(
    consumer: Consumer,
    event: Event | None,
    attempt: int | None,
    outcome: Outcome,
    error: BaseException | None = None,
) -> None:
    """Log it; with an error as a warning. What could not be read is null."""
    record = log.bind(
        consumer=consumer.name,
        eventId=event.event_id if event else None,
        materialId=event.material_id if event else None,
        revision=event.revision if event else None,
        attempt=attempt,
        outcome=str(outcome),
    )
    if error is None:
        record.info(str(outcome))
    else:
        record.warning(str(outcome), reason=type(error).__name__, error=sanitised(error))
