"""Pending outbox rows as the relay reads them: plain values, of which a batch has hundreds."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connections

from messaging.models import OutboxMessage

# A larger one is read only once it is known to be sent: what is looked at may hold gigabytes.
SMALL_BYTES = 8192


class OutboxRow(NamedTuple):
    """What is sent, and what is known of earlier tries. No model: that costs more than sending."""

    pk: int
    event_id: str | None
    message_id: str
    type: str
    material_id: str
    revision: int | None
    body: bytes
    header_table: bytes
    consumer: str
    attempts: int
    last_error: str
    created_at: int  # seconds since 1970, UTC
    size: int  # of body and header table, in bytes
    bulk: bool


def completed(rows: Sequence[OutboxRow], *, using: str) -> list[OutboxRow]:
    """These rows with all of them that `columns` left out, in order of id.

    Of the large ones, which are read again, those that are gone meanwhile are left out.
    """
    large = [row.pk for row in rows if row.size > SMALL_BYTES]
    complete = [row for row in rows if row.size <= SMALL_BYTES]
    if large:
        # In a question of its own and no join: a planner that takes a table for nearly empty, since
        # it was when it last looked, joins hundreds of rows to each row of a backlog.
        connection = connections[using]
        with connection.cursor() as cursor:
            listed = among(large, connection.vendor)
            cursor.execute(f"SELECT {_columns(connection.vendor)} FROM {TABLE} WHERE {listed}", [])
            complete += map(OutboxRow._make, cursor.fetchall())
    return sorted(complete)


def columns(vendor: str) -> str:
    """What to select for an OutboxRow; what it holds is left empty where that is large."""
    return _columns(
        vendor, "CASE WHEN LENGTH(body) + LENGTH(header_table) <= {} THEN {} ELSE {} END"
    )


def among(ids: Sequence[int], vendor: str) -> str:
    """The condition that a row has one of these ids; it holds nothing from outside."""
    listed = ",".join(map(str, ids))
    if vendor == "postgresql":
        # As one value that is not known before: a planner weighs each number that it can see.
        return f"id = ANY ((SELECT '{{{listed}}}'::bigint[])::bigint[])"
    return f"id IN ({listed})"


def _columns(vendor: str, of_content: str = "{1}") -> str:
    event_id, created_at, nothing = _SPELLINGS[vendor]
    body, header_table = (
        of_content.format(SMALL_BYTES, name, nothing) for name in ("body", "header_table")
    )
    return (
        f"id, {event_id}, message_id, type, material_id, revision, {body}, {header_table},"
        f" consumer, attempts, last_error, {created_at}, LENGTH(body) + LENGTH(header_table), bulk"
    )


TABLE = OutboxMessage._meta.db_table
_SPELLINGS = {
    "postgresql": ("event_id::text", "FLOOR(EXTRACT(EPOCH FROM created_at))::bigint", "''::bytea"),
    "sqlite": (
        "SUBSTR(event_id, 1, 8) || '-' || SUBSTR(event_id, 9, 4) || '-' ||"
        " SUBSTR(event_id, 13, 4) || '-' || SUBSTR(event_id, 17, 4) || '-' || SUBSTR(event_id, 21)",
        "CAST(STRFTIME('%%s', created_at) AS INTEGER)",
        "X''",
    ),
}
