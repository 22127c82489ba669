"""The durable count of failed attempts: a fact's budget, whatever copies of it are about."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, models, transaction

from messaging.envelope import MAX_ATTEMPT, Event
from messaging.models import FailedAttempt
from messaging.registry import Consumer
from messaging.running.error_texts import sanitised, traceback_text

_TRIES_AGAINST_TWINS = 5


@dataclass(frozen=True)
class Failure:
    """One failed attempt at a decoded event; `attempt` as its header says."""

    event: Event
    attempt: int
    error: BaseException
    transient: bool


def record(consumer: Consumer, failures: Sequence[Failure]) -> list[int]:
    """Keep the failures and give the attempt that each of them really was; commits.

    A transient one is at least the number of transient failures already counted for this
    consumer and event, and at most MAX_ATTEMPT. A permanent one keeps its own number. Raises
    nothing but database errors, and then nothing was kept; only where the answer to the commit
    was lost it was kept, and recording the same again charges one attempt more.
    """
    tries_left = _TRIES_AGAINST_TWINS
    while True:
        try:
            with transaction.atomic(using=consumer.database):
                return _record(consumer, failures)
        except IntegrityError:
            # Another process counted the same attempt first; count again.
            tries_left -= 1
            if not tries_left:
                raise


def _record(consumer: Consumer, failures: Sequence[Failure]) -> list[int]:
    counted = _counted(consumer, {each.event.event_id for each in failures if each.transient})
    attempts: list[int] = []
    rows: list[FailedAttempt] = []
    for failure in failures:
        event_id = failure.event.event_id
        count = counted.get(event_id, 0)
        attempt = min(max(failure.attempt, count), MAX_ATTEMPT)
        attempts.append(attempt if failure.transient else failure.attempt)
        if failure.transient:
            counted[event_id] = attempt + 1
            if count > MAX_ATTEMPT:
                continue  # The last attempt again, after a crash: it is counted already.
        rows.append(_row(consumer, failure, attempts[-1]))
    # In the order of ids: two workers with the same events wait for each other.
    rows.sort(key=lambda row: row.event_id)
    FailedAttempt.objects.using(consumer.database).bulk_create(rows)
    return attempts


def _counted(consumer: Consumer, event_ids: set[str]) -> dict[str, int]:
    """Per event, one more than its highest counted attempt."""
    rows = (
        FailedAttempt.objects.using(consumer.database)
        .filter(consumer=consumer.name, event_id__in=event_ids, transient=True, counted=True)
        .values_list("event_id")
        .annotate(highest=models.Max("attempt"))
    )
    return {str(event_id): highest + 1 for event_id, highest in rows}


def _row(consumer: Consumer, failure: Failure, attempt: int) -> FailedAttempt:
    event = failure.event
    return FailedAttempt(
        consumer=consumer.name,
        event_id=event.event_id,
        material_id=event.material_id,
        revision=event.revision,
        type=event.type,
        attempt=attempt,
        transient=failure.transient,
        error_class=type(failure.error).__name__[:100],
        error_text=sanitised(failure.error),
        traceback=traceback_text(failure.error),
    )
