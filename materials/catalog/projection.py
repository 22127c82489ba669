"""Facts into the readers' catalog: the newest revision of a material wins, whatever came when."""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from materials.events import PUBLISHED
from materials.row_documents import documents
from materials.search_keys import key_of
from messaging.envelope import Event


def apply(events: Sequence[Event], using: str) -> set[str]:
    """Bring the catalog up to these events; return the ids of those that were stale.

    Outcome and rows are those of handling the events one after another in the order given,
    also against a concurrent worker. Needs the caller's transaction; rows are locked in
    ascending order of material id, each once. Any number of events takes few statements: one
    for every 8 MiB on PostgreSQL, two for every 83 materials on SQLite.
    """
    if not events:
        return set()
    newest = _newest_per_material(events)
    rows = [_row(newest[material_id]) for material_id in sorted(newest)]
    connection = connections[using]
    upsert = _upsert_documents if connection.vendor == "postgresql" else _upsert_values
    return _stale(events, standing=dict(upsert(connection, rows)))


# material id -> the revision that stood before, of each row that was written
_Written = list[tuple[str, int]]


class _Row(NamedTuple):
    """The columns that an event decides, in the order of the statements below, and the words."""

    material_id: str
    revision: int
    visible: bool
    title: str
    summary: str
    body: str
    language: str
    tags: tuple[str, ...]
    published_at: datetime | None
    withdrawn_at: datetime | None
    withdrawn_reason: str
    event_id: str
    words: str


def _newest_per_material(events: Iterable[Event]) -> dict[str, Event]:
    """The event that each material ends with; among equal revisions the first to arrive."""
    newest: dict[str, Event] = {}
    for event in events:
        known = newest.get(event.material_id)
        if known is None or known.revision < event.revision:
            newest[event.material_id] = event
    return newest


def _row(event: Event) -> _Row:
    published = event.type == PUBLISHED
    data = event.data
    return _Row(
        material_id=event.material_id,
        revision=event.revision,
        visible=published,
        title=data.title if published else "",
        summary=data.summary if published else "",
        body=data.body if published else "",
        language=(data.language or "") if published else "",
        tags=data.tags if published else (),
        published_at=event.occurred_at if published else None,
        withdrawn_at=None if published else event.occurred_at,
        withdrawn_reason="" if published else data.reason,
        event_id=event.event_id,
        words=key_of((data.title, data.summary, data.body)) if published else "",
    )


def _stale(events: Iterable[Event], *, standing: Mapping[str, int]) -> set[str]:
    """Replay the batch upon the revisions that stood when each row was locked.

    A material without a standing revision was not written: the catalog has its newest event's
    revision or a newer one already, so all its events are stale.
    """
    current = dict(standing)
    stale = set()
    for event in events:
        known = current.get(event.material_id)
        if known is None or event.revision <= known:
            stale.add(event.event_id)
        else:
            current[event.material_id] = event.revision
    return stale


# The guard decides races: the row is locked, then compared, then written or left alone. What
# stood before comes back in replaced_revision, because RETURNING cannot see the old row.
_ON_CONFLICT = """
    ON CONFLICT (material_id) DO UPDATE SET
        revision = excluded.revision,
        replaced_revision = catalog_entry.revision,
        visible = excluded.visible,
        title = excluded.title,
        summary = excluded.summary,
        body = excluded.body,
        language = excluded.language,
        tags = excluded.tags,
        published_at = excluded.published_at,
        withdrawn_at = excluded.withdrawn_at,
        withdrawn_reason = excluded.withdrawn_reason,
        event_id = excluded.event_id,
        applied_at = excluded.applied_at{words}
    WHERE catalog_entry.revision < excluded.revision
    RETURNING material_id, replaced_revision
"""

_COLUMNS = _Row._fields[:-1]

_INSERT = "INSERT INTO catalog_entry ({columns}, replaced_revision, applied_at)"

_UPSERT_DOCUMENT = f"""
    {_INSERT.format(columns=", ".join(_Row._fields))}
    SELECT v->>0, (v->>1)::bigint, (v->>2)::boolean, v->>3, v->>4, v->>5, v->>6, v->7,
           (v->>8)::timestamptz, (v->>9)::timestamptz, v->>10, (v->>11)::uuid,
           array_to_tsvector(string_to_array(btrim(v->>12), ' ')), 0, STATEMENT_TIMESTAMP()
    FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS fresh (v, position)
    ORDER BY position
    {_ON_CONFLICT.format(words=", words = excluded.words")}
"""

_UPSERT_VALUES = f"""
    {_INSERT.format(columns=", ".join(_COLUMNS))} VALUES {{values}} {_ON_CONFLICT.format(words="")}
"""

# The moment is written as Django's Now() writes it on SQLite.
_VALUES = f"({', '.join(['%s'] * len(_COLUMNS))}, 0, STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'))"

# On SQLite the words stand in a table of their own, which the index of words follows.
_UPSERT_WORDS = """
    INSERT INTO catalog_text (material_id, words) VALUES {values}
    ON CONFLICT (material_id) DO UPDATE SET words = excluded.words
    WHERE catalog_text.words <> excluded.words
"""


def _upsert_documents(connection: BaseDatabaseWrapper, rows: Sequence[_Row]) -> _Written:
    written: _Written = []
    with connection.cursor() as cursor:
        for document in documents(rows):
            cursor.execute(_UPSERT_DOCUMENT, [document])
            written += cursor.fetchall()
    return written


def _upsert_values(connection: BaseDatabaseWrapper, rows: Sequence[_Row]) -> _Written:
    written: _Written = []
    size = (connection.features.max_query_params or 999) // len(_COLUMNS)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            values = ", ".join([_VALUES] * len(chunk))
            parameters = list(chain(*(_for_sqlite(connection, row) for row in chunk)))
            cursor.execute(_UPSERT_VALUES.format(values=values), parameters)
            fresh = cursor.fetchall()
            _upsert_words(cursor, chunk, {material_id for material_id, _ in fresh})
            written += fresh
    return written


def _upsert_words(cursor: CursorWrapper, rows: Iterable[_Row], written: Set[str]) -> None:
    words = [(row.material_id, row.words) for row in rows if row.material_id in written]
    if words:
        values = ", ".join(["(%s, %s)"] * len(words))
        cursor.execute(_UPSERT_WORDS.format(values=values), list(chain(*words)))


def _for_sqlite(connection: BaseDatabaseWrapper, row: _Row) -> tuple[Any, ...]:
    """The row's values as Django's own fields would store them."""
    stored = connection.ops.adapt_datetimefield_value
    return (
        *row[:7],
        json.dumps(row.tags, ensure_ascii=False),
        stored(row.published_at),
        stored(row.withdrawn_at),
        row.withdrawn_reason,
        row.event_id.replace("-", ""),
    )
