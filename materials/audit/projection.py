"""Facts into the audit trail: one row an event, kept as it came."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from materials.row_documents import documents
from messaging.envelope import Event


def apply(events: Sequence[Event], using: str) -> set[str]:
    """Append these events in the order given; a recorded one is left alone. Never stale.

    Needs the caller's transaction. Any number of events takes few statements: one for every
    8 MiB on PostgreSQL, one for every 142 events on SQLite. Rows are locked in order of
    arrival: the order of ids is worth more here than sorted keys, and two workers never hold
    the same event at once, because its receipt comes first.
    """
    connection = connections[using]
    insert = _insert_documents if connection.vendor == "postgresql" else _insert_values
    if events:
        insert(connection, [_row(event) for event in events])
    return set()


class _Row(NamedTuple):
    """The columns that an event decides, in the order of the statements below."""

    event_id: str
    type: str
    material_id: str
    revision: int
    occurred_at: datetime
    actor: str
    envelope: str


def _row(event: Event) -> _Row:
    return _Row(
        event_id=event.event_id,
        type=event.type,
        material_id=event.material_id,
        revision=event.revision,
        occurred_at=event.occurred_at,
        actor=event.actor or "",
        envelope=event.body.decode("utf-8"),
    )


_COLUMNS = ", ".join(_Row._fields)

# The database's defaults give the id and the moment of receipt.
_INSERT_DOCUMENT = f"""
    INSERT INTO audit_record ({_COLUMNS})
    SELECT (v->>0)::uuid, v->>1, v->>2, (v->>3)::bigint, (v->>4)::timestamptz, v->>5, v->>6
    FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS fresh (v, position)
    ORDER BY position
    ON CONFLICT (event_id) DO NOTHING
"""

_VALUES = f"({', '.join(['%s'] * len(_Row._fields))})"


def _insert_documents(connection: BaseDatabaseWrapper, rows: Iterable[_Row]) -> None:
    with connection.cursor() as cursor:
        for document in documents(rows):
            cursor.execute(_INSERT_DOCUMENT, [document])


def _insert_values(connection: BaseDatabaseWrapper, rows: Sequence[_Row]) -> None:
    size = (connection.features.max_query_params or 999) // len(_Row._fields)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            chunk = [_for_sqlite(connection, row) for row in rows[start : start + size]]
            values = ", ".join([_VALUES] * len(chunk))
            cursor.execute(
                f"INSERT INTO audit_record ({_COLUMNS}) VALUES {values}"
                " ON CONFLICT (event_id) DO NOTHING",
                list(chain(*chunk)),
            )


def _for_sqlite(connection: BaseDatabaseWrapper, row: _Row) -> tuple[Any, ...]:
    """The row's values as Django's own fields would store them."""
    occurred_at = connection.ops.adapt_datetimefield_value(row.occurred_at)
    return (row.event_id.replace("-", ""), *row[1:4], occurred_at, *row[5:])
