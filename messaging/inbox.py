"""Receipts and effects in one transaction: what makes a repeated delivery harmless.

The unique keys of `InboxReceipt` decide, not a look beforehand: a receipt that could be
inserted is a new event, whatever other processes do at the same moment.
"""

import uuid
from collections.abc import Sequence

from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F

from messaging.envelope import Event
from messaging.errors import FactConflict, TransientError
from messaging.models import InboxReceipt
from messaging.registry import Consumer, Outcome

_SQLITE_ROWS_PER_INSERT = 1000  # 8 variables a row; SQLite's limit is 32 766


def handle(consumer: Consumer, events: Sequence[Event]) -> list[Outcome | FactConflict]:
    """Apply events in order of arrival, each at most once ever; commits before it returns.

    Gives one outcome an event: applied, duplicate, stale, or the FactConflict that it is (which
    changes nothing). All receipts and effects are committed together, or, when anything is
    raised, not at all.
    """
    with transaction.atomic(using=consumer.database):
        outcomes: dict[int, Outcome | FactConflict] = {}
        candidates = _first_of_each_fact(events)
        new_ids = _insert_receipts(consumer, [events[index] for index in sorted(candidates)])
        fresh = {index for index in candidates if events[index].event_id in new_ids}
        for index, event in enumerate(events):
            if index in fresh:
                continue
            contested = _settle_contested(consumer, event)
            if contested is None:
                fresh.add(index)
            else:
                outcomes[index] = contested
        in_order = [events[index] for index in sorted(fresh)]
        stale_ids = consumer.apply(in_order, consumer.database) if in_order else set()
        if stale_ids:
            _receipts(consumer).filter(event_id__in=stale_ids).update(outcome=Outcome.STALE)
        for index in fresh:
            stale = events[index].event_id in stale_ids
            outcomes[index] = Outcome.STALE if stale else Outcome.APPLIED
    return [outcomes[index] for index in range(len(events))]


def _first_of_each_fact(events: Sequence[Event]) -> set[int]:
    """The events that no earlier one of the same batch could be a repetition of."""
    indexes, ids, revisions = set(), set(), set()
    for index, event in enumerate(events):
        revision = (event.material_id, event.revision)
        if event.event_id not in ids and revision not in revisions:
            indexes.add(index)
        ids.add(event.event_id)
        revisions.add(revision)
    return indexes


def _settle_contested(consumer: Consumer, event: Event) -> Outcome | FactConflict | None:
    """The outcome of an event whose id, or material and revision, is known; None if it is new."""
    own = _receipts(consumer).filter(event_id=event.event_id).first()
    if own is not None:
        if bytes(own.fingerprint) != event.fingerprint:
            return FactConflict(f"another body was handled under eventId {event.event_id}")
        _receipts(consumer).filter(pk=own.pk).update(duplicates=F("duplicates") + 1)
        return Outcome.DUPLICATE
    first = (
        _receipts(consumer)
        .filter(material_id=event.material_id, revision=event.revision, names_revision=True)
        .first()
    )
    if first is not None and bytes(first.content_fingerprint) != event.content_fingerprint:
        return FactConflict(
            f"revision {event.revision} of {event.material_id} is eventId {first.event_id}, "
            "with another content"
        )
    if not _insert_receipts(consumer, [event], names_revision=first is None):
        raise TransientError("another process handles the same fact at this moment")
    return None


def _receipts(consumer: Consumer) -> models.QuerySet[InboxReceipt]:
    return InboxReceipt.objects.using(consumer.database).filter(consumer=consumer.name)


def _insert_receipts(
    consumer: Consumer, events: Sequence[Event], *, names_revision: bool = True
) -> set[str]:
    """Insert what no unique key forbids; the ids of what was inserted.

    Sorted by id, so that two workers with the same events wait for each other in one order.
    """
    if not events:
        return set()
    connection = connections[consumer.database]
    ordered = sorted(events, key=lambda event: event.event_id)
    if connection.vendor == "postgresql":
        return _insert_by_arrays(connection, consumer.name, ordered, names_revision)
    inserted: set[str] = set()
    for start in range(0, len(ordered), _SQLITE_ROWS_PER_INSERT):
        chunk = ordered[start : start + _SQLITE_ROWS_PER_INSERT]
        inserted |= _insert_by_values(connection, consumer.name, chunk, names_revision)
    return inserted


def _insert_by_arrays(
    connection: BaseDatabaseWrapper, consumer: str, events: Sequence[Event], names_revision: bool
) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} ({_COLUMNS})"  # names from the model alone
            " SELECT %s, e, t, m, r, 'applied', f, c, %s, 0"
            " FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[], %s::bytea[],"
            " %s::bytea[]) AS event (e, t, m, r, f, c)"
            " ON CONFLICT DO NOTHING RETURNING event_id",
            [
                consumer,
                names_revision,
                [event.event_id for event in events],
                [event.type for event in events],
                [event.material_id for event in events],
                [event.revision for event in events],
                [event.fingerprint for event in events],
                [event.content_fingerprint for event in events],
            ],
        )
        return {str(row[0]) for row in cursor.fetchall()}


def _insert_by_values(
    connection: BaseDatabaseWrapper, consumer: str, events: Sequence[Event], names_revision: bool
) -> set[str]:
    values = ", ".join(["(%s, %s, %s, %s, %s, 'applied', %s, %s, %s, 0)"] * len(events))
    parameters: list[object] = []
    for event in events:
        parameters += [
            consumer,
            uuid.UUID(event.event_id).hex,
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
        return {str(uuid.UUID(row[0])) for row in cursor.fetchall()}


_TABLE = InboxReceipt._meta.db_table
_COLUMNS = (
    "consumer, event_id, type, material_id, revision, outcome, fingerprint,"
    " content_fingerprint, names_revision, duplicates"
)
