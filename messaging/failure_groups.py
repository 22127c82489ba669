"""Open letters by what made them: one incident is one line, not ten thousand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import Error
from django.db.models import Count, Max, Min

from messaging.models import DeadLetter, DeadLetterQuerySet
from messaging.time_limits import Overdue, answer_within

LOOK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Letters of one consumer with one failure at one place."""

    consumer: str
    reason: str
    place: str
    letters: int
    first_died_at: datetime
    last_died_at: datetime


def open_groups(*, most: int = 10) -> Sequence[FailureGroup]:
    """The largest groups of open letters; none where the database does not answer in time."""
    try:
        return answer_within(
            LOOK_SECONDS, lambda: failure_groups(DeadLetter.objects.open(), most=most)
        )
    except (Error, Overdue):
        return []


def failure_groups(letters: DeadLetterQuerySet, *, most: int = 100) -> Sequence[FailureGroup]:
    """The largest groups of these letters first. Reads each letter's index entry once."""
    rows = (
        letters.order_by()
        .values("consumer", "reason", "place")
        .annotate(letters=Count("*"), first=Min("first_died_at"), last=Max("died_at"))
        .order_by("-letters", "consumer", "reason", "place")[:most]
    )
    return [
        FailureGroup(
            consumer=row["consumer"],
            reason=row["reason"],
            place=row["place"],
            letters=row["letters"],
            first_died_at=row["first"],
            last_died_at=row["last"],
        )
        for row in rows
    ]
