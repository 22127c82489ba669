"""When the catalog's effects were committed: from outside, to about a millisecond.

PostgreSQL keeps the moment of every commit (`track_commit_timestamp`). On SQLite a thread looks
whether the file has changed, a thousand times a second, and reads what is new.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from bench.database import Database
from bench.stage import Stage

_RECEIPTS = "SELECT id, event_id FROM messaging_inboxreceipt WHERE consumer = 'catalog' AND id > %s"


def keep_commit_moments(stage: Stage) -> None:
    """Let the stage's PostgreSQL server keep the moments; it is started again."""
    database = Database(stage.postgres.url())
    database.run("ALTER SYSTEM SET track_commit_timestamp = on")
    database.close()
    stage.postgres.restart()


@contextmanager
def watched(url: str) -> Iterator[dict[str, float]]:
    """Seconds since 1970 by event id, of what the catalog commits inside the block.

    The dictionary is complete when the block is left; whoever leaves it waits for the commits.
    """
    database = Database(url)
    moments: dict[str, float] = {}
    last = database.value("SELECT COALESCE(MAX(id), 0) FROM messaging_inboxreceipt")
    if database.on_postgresql:
        yield moments
        rows = database.rows(
            "SELECT event_id, EXTRACT(EPOCH FROM pg_xact_commit_timestamp(xmin))"
            " FROM messaging_inboxreceipt WHERE consumer = 'catalog' AND id > %s",
            last,
        )
        moments.update((str(event_id), float(moment)) for event_id, moment in rows)
        database.close()
        return
    database.close()
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(url, last, moments, over), daemon=True)
    thread.start()
    yield moments
    over.set()
    thread.join()


def _watch(url: str, last: int, moments: dict[str, float], over: threading.Event) -> None:
    database = Database(url)
    seen = None
    is_last_look = False
    while not is_last_look:
        is_last_look = over.is_set()
        version = database.value("PRAGMA data_version")
        if version != seen:
            seen = version
            rows = database.rows(_RECEIPTS, last)
            now = time.time()
            for last, event_id in rows:  # noqa: B007 - the highest id is where the next look begins
                moments[str(UUID(event_id))] = now
        time.sleep(0.001)
    database.close()
