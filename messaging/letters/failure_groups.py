"""Open letters by what made them: one incident is one line, not ten thousand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import Error, connections
from django.db.models import Count, F, Max, Min, OuterRef, Subquery

from messaging.models import DeadLetter
from messaging.running.time_limits import Overdue, answer_within

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
            LOOK_SECONDS, lambda: failure_groups(state=DeadLetter.State.OPEN, most=most)
        )
    except (Error, Overdue):
        return []


def failure_groups(*, state: str = "", most: int = 100) -> Sequence[FailureGroup]:
    """The largest groups of letters first, of one state or of all. Three queries at most.

    Exact. Groups are found by hopping through an index, and the letters of each are counted in one
    that names nothing but the group. What has more than 10 000 groups is sorted as a whole, and no
    more of them than that are added up.
    """
    members = _members(state, most=MOST_ADDED_UP + 1)
    parts = _parts(members) if len(members) <= MOST_ADDED_UP else _parts_of_many(state)
    groups: dict[tuple[str, str, str], FailureGroup] = {}
    for part in parts:
        key = part.consumer, part.reason, part.place
        groups[key] = _together(groups[key], part) if key in groups else part
    largest = sorted(groups.items(), key=lambda item: (-item[1].letters, item[0]))
    return [group for _key, group in largest[:most]]


def _members(state: str, *, most: int) -> list[int]:
    """The id of one letter of each group and state."""
    table, names = DeadLetter._meta.db_table, ", ".join(_KEY)
    wanted = "state = %s AND" if state else ""
    sql = f"""
        WITH RECURSIVE found(id) AS (
            SELECT (SELECT id FROM {table} WHERE {wanted} state > '' ORDER BY {names} LIMIT 1)
            UNION ALL
            SELECT (
                SELECT id FROM {table} WHERE {wanted} ({names}) > (
                    SELECT {names} FROM {table} AS before WHERE before.id = found.id
                ) ORDER BY {names} LIMIT 1
            )
            FROM found WHERE found.id IS NOT NULL
        )
        SELECT id FROM found WHERE id IS NOT NULL LIMIT %s
    """  # names from the model alone
    with connections[DeadLetter.objects.db].cursor() as cursor:
        cursor.execute(sql, [*([state] * 2 if state else []), most])
        return [number for (number,) in cursor.fetchall()]


def _parts(members: Sequence[int]) -> Iterator[FailureGroup]:
    """The groups of these letters, those of each state by themselves."""
    alike = DeadLetter.objects.filter(**{name: OuterRef(name) for name in _KEY})
    count = alike.order_by().values("state").annotate(letters=Count("*")).values("letters")
    again = alike.filter(first_died_at__lt=F("died_at")).order_by("first_died_at")
    rows = (
        DeadLetter.objects.filter(pk__in=members)
        .order_by()
        .annotate(
            letters=Subquery(count),
            first=Subquery(alike.order_by("died_at").values("died_at")[:1]),
            first_of_those_that_died_again=Subquery(again.values("first_died_at")[:1]),
            last=Subquery(alike.order_by("-died_at").values("died_at")[:1]),
        )
    )
    names = ("letters", "first", "first_of_those_that_died_again", "last")
    for consumer, reason, place, letters, *firsts, last in rows.values_list(*_KEY[1:], *names):
        first = min(at for at in firsts if at is not None)
        yield FailureGroup(consumer, reason, place, letters, first, last)


def _parts_of_many(state: str) -> Iterator[FailureGroup]:
    """The largest, whatever it costs."""
    letters = DeadLetter.objects.filter(state=state) if state else DeadLetter.objects.all()
    rows = (
        letters.order_by()
        .values(*_KEY)
        .annotate(letters=Count("*"), first=Min("first_died_at"), last=Max("died_at"))
        .order_by("-letters")[:MOST_ADDED_UP]
    )
    names = ("consumer", "reason", "place", "letters", "first", "last")
    return (FailureGroup(*row) for row in rows.values_list(*names))


def _together(one: FailureGroup, other: FailureGroup) -> FailureGroup:
    return replace(
        one,
        letters=one.letters + other.letters,
        first_died_at=min(one.first_died_at, other.first_died_at),
        last_died_at=max(one.last_died_at, other.last_died_at),
    )


# In the order of the indexes.
_KEY = ("state", "consumer", "reason", "place")
