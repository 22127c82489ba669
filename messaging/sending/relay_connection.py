"""How the relay's own connection differs from the others: it may forget, and plans as it is told.

Which rows went is lost when the *server* crashes before it is on the disk. Then those rows are
pending, and are sent again with the same eventId, as after a crash of the relay between a confirm
and its mark. So these commits need not wait for the disk, which on SQLite all other writers would
wait for too. Whoever commits next takes them along.
"""

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper


def prepare(connection: BaseDatabaseWrapper) -> None:
    """To be called once for each new connection, outside a transaction.

    https://www.sqlite.org/pragma.html#pragma_synchronous
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Statistics say that next to nothing is pending, whatever has come since: a planner
            # that believes them collects and sorts all of a backlog for each batch. A session's
            # setting, as the batches are read outside transactions; whoever gets the connection
            # from a pool later may get a slower plan by it, and nothing else.
            cursor.execute("SET enable_bitmapscan = off")
        else:
            cursor.execute("PRAGMA synchronous = NORMAL")


def wait_for_no_disk(*, using: str) -> None:
    """On PostgreSQL the same for the transaction that it is called in, and for no other.

    A pool may give this connection to somebody whose commits have to wait: what could lose them
    something, unlike a plan, never outlasts the transaction.
    https://www.postgresql.org/docs/current/wal-async-commit.html
    """
    connection = connections[using]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")
