"""What the relay sends next: in two lanes, and of each material in order.

What somebody waits for goes before what is part of a large action (`bulk`), which has a share of
each batch all the same. State is on the row, never a cursor over ids: ids are handed out before
they are committed.
"""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connections

from messaging.sending.rows import TABLE, OutboxRow, columns, completed

BATCH_LIMIT = 500
MAX_BATCH_BYTES = 4 * 1024 * 1024
BULK_SHARE = 0.2  # of a batch, where both lanes are full
FLOOR_SECONDS = 1.0
LOOK_AT_TRIED_SECONDS = 0.5


class DueRows:
    """Batch after batch of what is due, each in order of id.

    A row that was never tried is due at once, by whatever clock it was written. One that was
    tried is due after its delay, and such rows never hold up the others, however many they are.
    """

    def __init__(self, *, using: str) -> None:
        self._using = using
        self._floors = {_URGENT: 0, _BULK: 0}
        self._floors_until = 0.0
        self._look_at_tried_at = 0.0
        self.bulk_waits = False  # whether the last look saw bulk rows, taken or left

    def start_over(self) -> None:
        """Begin again with the oldest: rows that were read went nowhere."""
        self._forget_floors()

    def read(self, *, besides: Iterable[int], bulk_limit: int | None = None) -> list[OutboxRow]:
        """About BATCH_LIMIT rows and MAX_BATCH_BYTES, without those ids (being sent).

        At most `bulk_limit` of them are bulk for their own sake; more may be, because a later
        fact of their material is due.
        """
        excluded = list(besides)
        in_time = time.monotonic() >= self._look_at_tried_at
        rows = self._tried(excluded) if in_time else []
        rows = rows or self._never_tried(excluded, bulk_limit)
        return rows or ([] if in_time else self._tried(excluded))

    def any(self) -> bool:
        """Whether any row is due."""
        return any(self._due(lane, [], limit=1) for lane in (_ANY, _TRIED))

    def _tried(self, besides: Sequence[int]) -> list[OutboxRow]:
        self._look_at_tried_at = time.monotonic() + LOOK_AT_TRIED_SECONDS
        tried = _within(self._due(_TRIED, besides, limit=BATCH_LIMIT))
        return completed(tried, using=self._using)

    def _never_tried(self, besides: Sequence[int], bulk_limit: int | None) -> list[OutboxRow]:
        # The floors keep a long backlog from being walked again and again; they are dropped
        # every second, since a lower id may be committed after a higher one.
        now = time.monotonic()
        if now >= self._floors_until:
            self._forget_floors()
            self._floors_until = now + FLOOR_SECONDS
        bulk_limit = BATCH_LIMIT if bulk_limit is None else min(bulk_limit, BATCH_LIMIT)
        bulk_seen = bulk_limit or 1
        # One statement for both lanes: had they two moments, the later of two facts of one
        # material could be seen without the earlier.
        wanted = [
            (floor, limit + sum(id_ > floor for id_ in besides))
            for floor, limit in (
                (self._floors[_URGENT], BATCH_LIMIT),
                (self._floors[_BULK], bulk_seen),
            )
        ]
        sql = f"{self._first(_URGENT)} UNION ALL {self._first(_BULK)}"
        seen = self._ask(sql, [*wanted[0], *wanted[1]], besides)
        urgent = [each for each in seen if not each.bulk][:BATCH_LIMIT]
        bulk = [each for each in seen if each.bulk][:bulk_seen]
        self.bulk_waits = bool(bulk)
        has_floor = any(self._floors.values())
        share = BULK_SHARE if bulk and bulk_limit > 0 else 0.0
        first = _within(urgent, share=1.0 - share)
        rest = _within(bulk[:bulk_limit], share=1.0 - len(first) / BATCH_LIMIT)
        self._move_floor(
            _URGENT, first, more=len(first) < len(urgent) or len(urgent) >= BATCH_LIMIT
        )
        self._move_floor(_BULK, rest, more=len(rest) < len(bulk) or len(bulk) >= bulk_seen)
        chosen = first + rest
        # SQLite has one writer at a time, so that ids are committed in order.
        below = has_floor and connections[self._using].vendor != "sqlite"
        if bulk or below:
            chosen = self._with_earlier(chosen, besides)
        return completed(chosen, using=self._using)

    def _with_earlier(self, chosen: Sequence[OutboxRow], besides: Sequence[int]) -> list[OutboxRow]:
        """The same, but of each material its oldest rows first, chosen or not.

        Earlier rows are in the other lane, below a floor, or beyond what a batch holds. They
        come forward, up to a batch of them; what they precede waits where they are too many.
        """
        last = {each.material_id: each.pk for each in sorted(chosen) if each.material_id}
        if not last:
            return list(chosen)
        taken = [*besides, *(each.pk for each in chosen)]
        vendor = connections[self._using].vendor
        found = self._run(_PRECEDED[vendor], [json.dumps(list(last.items())), json.dumps(taken)])
        preceded = {material_id for (material_id,) in found}
        if not preceded:
            return list(chosen)
        self._forget_floors()  # what is left out now must be seen again
        marks = ", ".join(["%s"] * len(preceded))
        in_order = self._ask(
            self._first(f"{_ANY} AND material_id IN ({marks})"),
            [0, *preceded, BATCH_LIMIT + len(besides)],
            besides,
        )
        return [each for each in chosen if each.material_id not in preceded] + _within(in_order)

    def _move_floor(self, lane: str, taken: Sequence[OutboxRow], *, more: bool) -> None:
        if not more:
            self._floors[lane] = 0
        elif taken:
            self._floors[lane] = taken[-1].pk

    def _forget_floors(self) -> None:
        self._floors = {_URGENT: 0, _BULK: 0}

    def _due(self, lane: str, besides: Sequence[int], *, limit: int) -> list[OutboxRow]:
        condition = lane.format(**_CLOCKS[connections[self._using].vendor])
        return self._ask(self._first(condition), [0, limit + len(besides)], besides)[:limit]

    def _ask(self, sql: str, parameters: Sequence[Any], besides: Sequence[int]) -> list[OutboxRow]:
        # Left out here: a planner weighs every one of a thousand ids in a NOT IN.
        excluded = set(besides)
        return [
            OutboxRow._make(row) for row in self._run(sql, parameters) if row[0] not in excluded
        ]

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with connections[self._using].cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())

    def _first(self, condition: str) -> str:
        """The first rows above an id under this condition; it holds no text from outside."""
        return f"""
            SELECT * FROM (
                SELECT {columns(connections[self._using].vendor)} FROM {TABLE}
                WHERE state = 'pending' AND id > %s AND {condition} ORDER BY id LIMIT %s
            ) AS first_rows"""


def _within(seen: Sequence[OutboxRow], *, share: float = 1.0) -> list[OutboxRow]:
    """The first of them that a share of a batch holds, up to the one that fills it."""
    size = 0
    for count, each in enumerate(seen):
        if count >= BATCH_LIMIT * share or size >= MAX_BATCH_BYTES * share:
            return list(seen[:count])
        size += each.size
    return list(seen)


# The materials of which an earlier row waits. A scalar subquery is looked up by the index for each
# material, whatever statistics say.
_PRECEDED = {
    vendor: f"""
        WITH chosen (material_id, id) AS ({chosen})
        SELECT material_id FROM chosen WHERE (
            SELECT earlier.id FROM {TABLE} AS earlier
            WHERE earlier.state = 'pending' AND earlier.attempts = 0
            AND earlier.material_id = chosen.material_id AND earlier.id < chosen.id
            AND earlier.id NOT IN ({taken}) ORDER BY earlier.id LIMIT 1
        ) IS NOT NULL"""
    for vendor, chosen, taken in (
        (
            "postgresql",
            "SELECT v->>0, (v->>1)::bigint FROM jsonb_array_elements(%s::jsonb) AS each (v)",
            "SELECT v::bigint FROM jsonb_array_elements_text(%s::jsonb) AS each (v)",
        ),
        (
            "sqlite",
            "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%s)",
            "SELECT value FROM json_each(%s)",
        ),
    )
}
_ANY = "attempts = 0"
_URGENT, _BULK = "attempts = 0 AND NOT bulk", "attempts = 0 AND bulk"
# No delay is longer than half a minute: beyond a minute the clock was set back.
_TRIED = "attempts > 0 AND (due_at <= {now} OR due_at > {in_a_minute})"
_CLOCKS = {
    "postgresql": {
        "now": "statement_timestamp()",
        "in_a_minute": "statement_timestamp() + interval '1 minute'",
    },
    "sqlite": {
        "now": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "in_a_minute": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+1 minute')",
    },
}
