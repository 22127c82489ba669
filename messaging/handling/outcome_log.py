"""One record for what became of one delivered message: names and outcome, never a body."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import structlog

from messaging.envelope import Event
from messaging.registry import Consumer, Outcome
from messaging.running.error_texts import sanitised
from messaging.running.logs import log_many

log = structlog.get_logger(__name__)


def tell_handled(consumer: Consumer, handled: Sequence[tuple[Event, int, Outcome]]) -> None:
    """Log events with their attempt and committed outcome, in order."""
    for outcome, group in groupby(handled, key=itemgetter(2)):
        records = [_names(consumer, event, attempt, outcome) for event, attempt, _ in group]
        log_many(__name__, str(outcome), records)


def tell_failure(
    consumer: Consumer,
    event: Event | None,
    attempt: int | None,
    outcome: Outcome,
    error: BaseException,
) -> None:
    """Log a retried or dead message as a warning. What could not be read is null."""
    names = _names(consumer, event, attempt, outcome)
    log.warning(str(outcome), **names, reason=type(error).__name__, error=sanitised(error))


def _names(
    consumer: Consumer, event: Event | None, attempt: int | None, outcome: Outcome
) -> dict[str, str | int | None]:
    return {
        "consumer": consumer.name,
        "eventId": event.event_id if event else None,
        "materialId": event.material_id if event else None,
        "revision": event.revision if event else None,
        "attempt": attempt,
        "outcome": str(outcome),
    }
