"""Whose a body is, decided by one transaction at a time: a letter's own, or its correction.

The two are in two tables, so no unique key could decide between a collector and a correction.
"""

from collections.abc import Iterable

from django.db import connections


def claim_bodies(hashes: Iterable[bytes], *, using: str) -> None:
    """Nobody else claims a body of these SHA-256 until the caller's transaction ends.

    Waits for whoever has; in one order, so that two with the same bodies do not deadlock. On
    SQLite the transaction holds the one write lock already.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    keys = sorted({int.from_bytes(each[:8], "big", signed=True) for each in hashes})
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])
