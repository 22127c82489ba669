"""Pending outbox rows as the relay reads them: plain values, of which a batch has hundreds."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from django.db import connections

from messaging.models import OutboxMessage


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


def read_rows(ids: Sequence[int], *, using: str) -> list[OutboxRow]:
    """The rows of these ids, in order of id; what is gone meanwhile is left out."""
    if not ids:
        return []
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(f"{_SELECT[connection.vendor]} WHERE {among(ids, connection.vendor)}")
        return sorted(map(OutboxRow._make, cursor.fetchall()), key=itemgetter(0))


def among(ids: Sequence[int], vendor: str) -> str:
    """The condition that a row has one of these ids; it holds nothing from outside."""
    listed = ",".join(map(str, ids))
    if vendor == "postgresql":
        # As one value that is not known before: a planner weighs each number that it can see.
        return f"id = ANY ((SELECT '{{{listed}}}'::bigint[])::bigint[])"
    return f"id IN ({listed})"


_SELECT = {
    vendor: f"SELECT id, {event_id}, message_id, type, material_id, revision, body, header_table,"
    f" consumer, attempts, last_error, {created_at} FROM {OutboxMessage._meta.db_table}"
    for vendor, event_id, created_at in (
        ("postgresql", "event_id::text", "FLOOR(EXTRACT(EPOCH FROM created_at))::bigint"),
        (
            "sqlite",
            "SUBSTR(event_id, 1, 8) || '-' || SUBSTR(event_id, 9, 4) || '-' ||"
            " SUBSTR(event_id, 13, 4) || '-' || SUBSTR(event_id, 17, 4) || '-' ||"
            " SUBSTR(event_id, 21)",
            "CAST(STRFTIME('%s', created_at) AS INTEGER)",
        ),
    )
}
