"""A database of the product as the benchmark sees it: by plain SQL, on either vendor."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import psycopg

from bench.facts import Fact


class Database:
    """One connection, each statement committed at once. Parameters are written %s."""

    def __init__(self, url: str) -> None:
        self.on_postgresql = not url.startswith("sqlite:")
        self._connection: Any
        if self.on_postgresql:
            self._connection = psycopg.connect(url, autocommit=True)
        else:
            path = url.removeprefix("sqlite:///")
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=30)

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """What a query gives."""
        return list(self._execute(sql, parameters).fetchall())

    def value(self, sql: str, *parameters: object) -> Any:
        """The one value of the one row."""
        return self.rows(sql, *parameters)[0][0]

    def run(self, sql: str, *parameters: object) -> None:
        """A statement whose result is of no interest."""
        self._execute(sql, parameters)

    def put(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Insert rows in one transaction, as quickly as this vendor can."""
        if self.on_postgresql:
            into = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
            with self._connection.cursor() as cursor, cursor.copy(into) as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join("?" * len(columns))
        self.run("BEGIN IMMEDIATE")
        self._connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows
        )
        self.run("COMMIT")

    def close(self) -> None:
        self._connection.close()

    def _execute(self, sql: str, parameters: Sequence[object]) -> Any:
        if self.on_postgresql:
            return self._connection.execute(sql, parameters or None)
        return self._connection.execute(sql.replace("%s", "?"), parameters)

    def event_id(self, text: str) -> object:
        """An event's id as this vendor stores it."""
        return UUID(text) if self.on_postgresql else text.replace("-", "")


def fill_outbox(database: Database, facts: Iterable[Fact]) -> None:
    """Pending rows for these facts, in one transaction; then the relay is woken."""
    columns = ("event_id", "type", "material_id", "revision", "body", *_CONSTANT)
    rows = (
        (
            database.event_id(fact.event_id),
            fact.type,
            fact.material_id,
            fact.revision,
            fact.body,
            *_CONSTANT.values(),
        )
        for fact in facts
    )
    database.put("messaging_outboxmessage", columns, rows)
    if database.on_postgresql:
        database.run("SELECT pg_notify('delivery_outbox', '')")


_CONSTANT: dict[str, object] = {
    "message_id": "",
    "header_table": b"",
    "consumer": "",
    "state": "pending",
    "attempts": 0,
    "last_error": "",
}
