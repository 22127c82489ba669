"""How an idle relay learns at once that there is work.

PostgreSQL tells it (LISTEN/NOTIFY, sent in the publishing transaction); SQLite is asked
whether the file has changed, which costs microseconds. A slow poll is the net under both.
"""

import sqlite3
from typing import Any, Protocol

import psycopg
from django.db import Error, connections

from messaging.outbox import CHANNEL


class Bell(Protocol):
    """Rings when the outbox may have changed."""

    interval_seconds: float  # how often `rang` has to be looked at

    def fileno(self) -> int | None:
        """A descriptor that becomes readable when it rings, where there is one."""

    def rang(self) -> bool:
        """Whether it rang since the last look. Never raises: a broken bell is a silent one."""

    def close(self) -> None:
        """Give back what it holds."""


def bell(using: str) -> Bell:
    """The bell that this database has."""
    vendor = connections[using].vendor
    return _Notifications(using) if vendor == "postgresql" else _DataVersion(using)


class _Notifications:
    """A connection of its own that listens; opened again, at the next look, after a loss."""

    interval_seconds = 1.0

    def __init__(self, using: str) -> None:
        self._using = using
        self._listener: Any = None
        self._is_new = False

    def fileno(self) -> int | None:
        if self._listener is None:
            self._open()
        return None if self._listener is None else int(self._listener.connection.fileno())

    def rang(self) -> bool:
        if self._listener is None:
            return False
        # What was said before it listened, or while it was broken, was not heard: look.
        was_new, self._is_new = self._is_new, False
        try:
            # All of them are taken: one left unread would not make the descriptor readable.
            return bool(list(self._listener.connection.notifies(timeout=0))) or was_new
        except (psycopg.Error, Error):
            self.close()
            return True

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _open(self) -> None:
        listener = connections[self._using].copy()
        try:
            with listener.cursor() as cursor:
                cursor.execute(f'LISTEN "{CHANNEL}"')
        except Error:
            listener.close()
        else:
            self._listener = listener
            self._is_new = True


class _DataVersion:
    """https://www.sqlite.org/pragma.html#pragma_data_version"""

    interval_seconds = 0.03

    def __init__(self, using: str) -> None:
        self._using = using
        self._seen: int | None = None

    def fileno(self) -> int | None:
        return None

    def rang(self) -> bool:
        raw = connections[self._using].connection
        if raw is None:
            return True
        try:
            version = raw.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:
            return False  # The next poll asks the outbox itself, and judges what is wrong.
        changed, self._seen = bool(version != self._seen), version
        return changed

    def close(self) -> None:
        pass
