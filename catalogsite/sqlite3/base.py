"""The backend: a write-ahead log, and a fair chance at the one write lock.

A transaction takes the write lock as it begins. SQLite's own busy timeout looks for a free lock
in steps that grow to a tenth of a second, and a process that commits and begins again at once
leaves it free for a thousandth: under load the others miss it until their time is over. Here they
look every few milliseconds (https://www.sqlite.org/c3ref/busy_timeout.html). A statement that
writes outside a transaction waits in SQLite's own way: what has to get through begins one.
"""

import random
import sqlite3
import time
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

from catalogsite.sqlite3.journal import LoggedConnection

LOOK_SECONDS = 0.003


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's, with OPTIONS["timeout"] in seconds as the longest wait for the lock."""

    def get_connection_params(self) -> dict[str, Any]:
        return super().get_connection_params() | {"factory": LoggedConnection}

    def _start_transaction_under_autocommit(self) -> None:
        timeout_seconds = float(self.settings_dict["OPTIONS"].get("timeout", 5.0))
        until = time.monotonic() + timeout_seconds
        raw = self.connection
        raw.execute("PRAGMA busy_timeout = 0").close()
        try:
            while not self._began(last_try=time.monotonic() >= until):
                # Not all at the same moment.
                time.sleep(random.uniform(0.2, 1.0) * LOOK_SECONDS)
        finally:
            raw.execute(f"PRAGMA busy_timeout = {int(timeout_seconds * 1000)}").close()

    def _began(self, *, last_try: bool) -> bool:
        try:
            # Django's, which its published types leave out.
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except OperationalError as error:
            if last_try or not _is_busy(error):
                raise
            return False
        return True


def _is_busy(error: OperationalError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is not None and code & 0xFF == sqlite3.SQLITE_BUSY
