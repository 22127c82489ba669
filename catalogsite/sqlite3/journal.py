"""An SQLite connection that turns its file to a write-ahead log, also when many open it anew."""

import sqlite3
import time
from typing import Any

PAUSE_SECONDS = 0.01


class LoggedConnection(sqlite3.Connection):
    """Turns the file to WAL as it opens; readers and one writer then do not wait for each other.

    Two that turn a new file at the same moment would wait for each other for ever, so SQLite
    refuses one of them at once and without its busy timeout: that one tries again, for as long
    as the timeout allows (https://www.sqlite.org/wal.html, section 8).
    """

    def __init__(self, database: str, timeout: float = 5.0, **options: Any) -> None:
        super().__init__(database, timeout=timeout, **options)
        until = time.monotonic() + timeout
        while True:
            try:
                self.execute("PRAGMA journal_mode=WAL").close()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    self.close()
                    raise
            time.sleep(PAUSE_SECONDS)
