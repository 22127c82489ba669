"""Open letters by what made them: one incident is one line, not ten thousand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import Error
from django.db.models import Count, Max, Min

from messaging.models import DeadLetter, DeadLetterQuerySet
from messaging.time_limits import Overdue, answer_within

LOOK_SECONDS = 5.0
MOST_ADDED_UP = 10_000


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
    """The largest groups of these letters first. Reads each letter's index entry once.

    Groups of one state are what is added up, 10 000 of them at most.
    """
    # In the order of the index, which begins with the state: nothing has to be sorted.
    rows = (
        letters.order_by()
        .values("state", "consumer", "reason", "place")
        .annotate(letters=Count("*"), first=Min("first_died_at"), last=Max("died_at"))
        .order_by("-letters")[:MOST_ADDED_UP]
    )
    groups: dict[tuple[str, str, str], FailureGroup] = {}
    for row in rows:
        part = FailureGroup(
            consumer=row["consumer"],
            reason=row["reason"],
            place=row["place"],
            letters=row["letters"],
            first_died_at=row["first"],
            last_died_at=row["last"],
        )
        key = part.consumer, part.reason, part.place
        groups[key] = _together(groups[key], part) if key in groups else part
    largest = sorted(groups.items(), key=lambda item: (-item[1].letters, item[0]))
    return [group for _key, group in largest[:most]]


def _together(one: FailureGroup, other: FailureGroup) -> FailureGroup:
    return replace(
        one,
        letters=one.letters + other.letters,
        first_died_at=min(one.first_died_at, other.first_died_at),
        last_died_at=max(one.last_died_at, other.last_died_at),
    )
