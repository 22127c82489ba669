"""How the relay's own connection differs from the others: it may forget, and plans as it is told.

What the relay writes (rows that went, tries, its lease) is lost when the *server* crashes before
it is on the disk. Then those rows are pending, and are sent again with the same eventId, as after
a crash of the relay between a confirm and its mark. So its commits need not wait for the disk,
which on SQLite all other writers would wait for too. Whoever commits next takes them along.
"""

from django.db.backends.base.base import BaseDatabaseWrapper


def prepare(connection: BaseDatabaseWrapper) -> None:
    """To be called once for each new connection, outside a transaction.

    https://www.postgresql.org/docs/current/wal-async-commit.html and
    https://www.sqlite.org/pragma.html#pragma_synchronous
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET synchronous_commit = off")
            # Statistics say that next to nothing is pending, whatever has come since: a planner
            # that believes them collects and sorts all of a backlog for each batch.
            cursor.execute("SET enable_bitmapscan = off")
        else:
            cursor.execute("PRAGMA synchronous = NORMAL")
