"""The limit of a click: the statements that publishing cannot do without, by the plain driver.

Lock the material, keep the revision, store the outbox row, commit: nothing is judged, built or
compared. With `outbox_only` the outbox row alone, in a transaction of its own.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench.database import Database
from bench.facts import Fact, read_facts
from bench.timed import Done


def prepare(*, facts: str, outbox_only: bool) -> Callable[[], Done]:
    known = list(read_facts(Path(facts)))
    database = Database(os.environ["DATABASE_URL"])
    now = datetime.now(UTC) if database.on_postgresql else datetime.now(UTC).isoformat(" ")
    if not outbox_only:
        database.put(
            "materials_material",
            _MATERIAL,
            ((fact.material_id, *_DRAFT, "editor", now, "editor", now) for fact in known),
        )

    def work() -> Done:
        for fact in known:
            _click(database, fact, now, outbox_only=outbox_only)
        return Done(len(known))

    return work


def _click(database: Database, fact: Fact, now: object, *, outbox_only: bool) -> None:
    event_id = database.event_id(fact.event_id)
    database.run("BEGIN" if database.on_postgresql else "BEGIN IMMEDIATE")
    if not outbox_only:
        lock = " FOR NO KEY UPDATE" if database.on_postgresql else ""
        database.rows(
            f"SELECT * FROM materials_material WHERE material_id = %s{lock}", fact.material_id
        )
        database.run(
            "UPDATE materials_material SET state = 'published', revision = 1, differs = %s"
            " WHERE material_id = %s",
            False,
            fact.material_id,
        )
        database.run(
            "INSERT INTO materials_revision (material_id, number, kind, title, summary, body,"
            " language, tags, reason, actor, happened_at, event_id)"
            " VALUES (%s, 1, 'published', 'A title', '', 'A text', '', '[]', '', 'editor', %s, %s)",
            fact.material_id,
            now,
            event_id,
        )
    database.run(
        "INSERT INTO messaging_outboxmessage (event_id, message_id, type, material_id, revision,"
        " body, header_table, consumer, state, attempts, last_error)"
        " VALUES (%s, '', %s, %s, %s, %s, '', '', 'pending', 0, '')",
        event_id,
        fact.type,
        fact.material_id,
        fact.revision,
        fact.body,
    )
    if database.on_postgresql:
        database.run("SELECT pg_notify('delivery_outbox', '')")
    database.run("COMMIT")


_DRAFT = ("A title", "", "A text", "", "[]", 1, "draft", 0, False, "")
_MATERIAL = (
    *("material_id", "title", "summary", "body", "language", "tags", "version", "state"),
    *("revision", "differs", "search_key", "created_by", "created_at", "updated_by", "updated_at"),
)
