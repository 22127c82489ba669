"""Open letters by what made them: one incident is one line, not ten thousand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import Error, connections
from django.db.models import Count, F, Max, Min, OuterRef, Subquery

from messaging.models import DeadLetter
from messaging.running.time_limits import Overdue, answer_within

LOOK_SECONDS = 5.0
MOST_ADDED_UP = 10_000
LOOKS = 3

# In the order of the indexes.
_NAMES = ("state", "consumer", "reason", "place")
_Key = tuple[str, ...]  # of these


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
    """The largest groups of letters first, of one state or of all.

    Exact up to 10 000 groups: they are found by hopping through an index, and the letters of each
    are counted in one that names nothing but the group. What has more is sorted as a whole, and no
    more groups than that are added up.
    """
    groups: dict[_Key, FailureGroup] = {}
    for (_state, *names), part in _parts(state).items():
        key = tuple(names)
        groups[key] = _together(groups[key], part) if key in groups else part
    largest = sorted(groups.items(), key=lambda item: (-item[1].letters, item[0]))
    return [group for _key, group in largest[:most]]


def _parts(state: str) -> Mapping[_Key, FailureGroup]:
    """The groups, those of each state by themselves."""
    parts: dict[_Key, FailureGroup] = {}
    for _look in range(LOOKS):
        members = _members(state, most=MOST_ADDED_UP + 1)
        if len(members) > MOST_ADDED_UP:
            return _parts_of_many(state)
        parts |= _parts_with([pk for key, pk in members.items() if key not in parts])
        if members.keys() <= parts.keys():
            break
        # A decision moved a letter to another group before that of the letter was counted.
    return {key: part for key, part in parts.items() if state in ("", key[0])}


def _members(state: str, *, most: int) -> dict[_Key, int]:
    """The id of one letter of each group and state."""
    table, names = DeadLetter._meta.db_table, ", ".join(_NAMES)
    wanted, order = ("state = %s AND", _NAMES[1:]) if state else ("", _NAMES)
    # As values: of rows of columns SQLite looks up the first alone.
    before = ", ".join(f"found.{name} || ''" for name in order)
    sql = f"""
        WITH RECURSIVE found(id, {names}) AS (
            SELECT * FROM (
                SELECT id, {names} FROM {table} WHERE {wanted} state > '' ORDER BY {names} LIMIT 1
            ) AS beginning
            UNION ALL
            SELECT following.id, {", ".join(f"following.{name}" for name in _NAMES)}
            FROM found JOIN {table} AS following ON following.id = (
                SELECT id FROM {table} WHERE {wanted} ({", ".join(order)}) > ({before})
                ORDER BY {names} LIMIT 1
            )
        )
        SELECT id, {names} FROM found LIMIT %s
    """  # names from the model alone
    with connections[DeadLetter.objects.db].cursor() as cursor:
        cursor.execute(sql, [*([state] * 2 if state else []), most])
        return {tuple(key): pk for pk, *key in cursor.fetchall()}


def _parts_with(members: Sequence[int]) -> dict[_Key, FailureGroup]:
    """The groups that these letters are in at this moment, those of each state by themselves."""
    alike = DeadLetter.objects.filter(**{name: OuterRef(name) for name in _NAMES})
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
    names = (*_NAMES, "letters", "first", "first_of_those_that_died_again", "last")
    parts: dict[_Key, FailureGroup] = {}
    for state, consumer, reason, place, letters, *firsts, last in rows.values_list(*names):
        first = min(at for at in firsts if at is not None)
        group = FailureGroup(consumer, reason, place, letters, first, last)
        parts[state, consumer, reason, place] = group
    return parts


def _parts_of_many(state: str) -> dict[_Key, FailureGroup]:
    """The largest, whatever it costs."""
    letters = DeadLetter.objects.filter(state=state) if state else DeadLetter.objects.all()
    rows = (
        letters.order_by()
        .values(*_NAMES)
        .annotate(letters=Count("*"), first=Min("first_died_at"), last=Max("died_at"))
        .order_by("-letters")[:MOST_ADDED_UP]
    )
    rows_of_values = rows.values_list(*_NAMES, "letters", "first", "last")
    return {tuple(row[:4]): FailureGroup(*row[1:]) for row in rows_of_values}


def _together(one: FailureGroup, other: FailureGroup) -> FailureGroup:
    return replace(
        one,
        letters=one.letters + other.letters,
        first_died_at=min(one.first_died_at, other.first_died_at),
        last_died_at=max(one.last_died_at, other.last_died_at),
    )
