"""Writing receipts: the statements by which the unique keys of `InboxReceipt` decide."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from messaging.envelope import Event
from messaging.models import InboxReceipt
from messaging.registry import Consumer

_SQLITE_ROWS_PER_INSERT = 1000  # 8 variables a row; SQLite's limit is 32 766


def insert(consumer: Consumer, events: Sequence[Event], *, names_revision: bool = True) -> set[str]:
    """Insert what no unique key forbids, and give the ids of what was inserted.

    Needs the caller's transaction. Rows are locked in the order of ids, so that two workers
    with the same events wait for each other and do not deadlock.
    """
    if not events:
        return set()
    connection = connections[consumer.database]
    ordered = sorted(events, key=lambda event: event.event_id)
    if connection.vendor == "postgresql":
        return _insert_by_document(connection, consumer.name, ordered, names_revision)
    inserted: set[str] = set()
    for start in range(0, len(ordered), _SQLITE_ROWS_PER_INSERT):
        chunk = ordered[start : start + _SQLITE_ROWS_PER_INSERT]
        inserted |= _insert_by_values(connection, consumer.name, chunk, names_revision)
    return inserted


def _insert_by_document(
    connection: BaseDatabaseWrapper, consumer: str, events: Sequence[Event], names_revision: bool
) -> set[str]:
    # One JSON document instead of an array a column: psycopg writes arrays element by element
    # in Python, which costs more than all the rest of the statement.
    document = json.dumps(
        [
            (
                event.event_id,
                event.type,
                event.material_id,
                event.revision,
                event.fingerprint.hex(),
                event.content_fingerprint.hex(),
            )
            for event in events
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} ({_COLUMNS})"  # names from the model alone
            " SELECT %s, (v->>0)::uuid, v->>1, v->>2, (v->>3)::bigint, 'applied',"
            " decode(v->>4, 'hex'), decode(v->>5, 'hex'), %s, 0"
            " FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS event (v, position)"
            " ORDER BY position"
            " ON CONFLICT DO NOTHING RETURNING event_id",
            [consumer, names_revision, document],
        )
        return {str(row[0]) for row in cursor.fetchall()}


def _insert_by_values(
    connection: BaseDatabaseWrapper, consumer: str, events: Sequence[Event], names_revision: bool
) -> set[str]:
    values = ", ".join(["(%s, %s, %s, %s, %s, 'applied', %s, %s, %s, 0)"] * len(events))
    parameters: list[Any] = []
    ids = {event.event_id.replace("-", ""): event.event_id for event in events}  # as Django stores
    for event in events:
        parameters += [
            consumer,
            event.event_id.replace("-", ""),
            event.type,
            event.material_id,
            event.revision,
            event.fingerprint,
            event.content_fingerprint,
            names_revision,
        ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} ({_COLUMNS}) VALUES {values}"
            " ON CONFLICT DO NOTHING RETURNING event_id",
            parameters,
        )
        return {ids[row[0]] for row in cursor.fetchall()}


_TABLE = InboxReceipt._meta.db_table
_COLUMNS = (
    "consumer, event_id, type, material_id, revision, outcome, fingerprint,"
    " content_fingerprint, names_revision, duplicates"
)
