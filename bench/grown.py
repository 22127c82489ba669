"""A PostgreSQL database as it is after years: made set by set, indexes after the rows.

Every material was published equally often; each of those facts was sent and handled by the
catalog's consumer. Bodies of sent rows are short: nothing reads them, only their number counts.
"""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.database import Database
from bench.stage import say

WORKERS = 2


def grow(url: str, *, facts: int, materials: int) -> None:
    """Fill an empty, migrated database. `facts` is a multiple of `materials`."""
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [
            pool.submit(_fill, url, table, rows.format(facts=facts, materials=materials, id=_ID))
            for table, rows in _ROWS.items()
        ]
        for job in jobs:
            job.result()
    database = Database(url)
    database.run("CHECKPOINT")
    database.close()


def material_of(number: int) -> str:
    """The name of one of the materials."""
    return f"article-{number}"


def _fill(url: str, table: str, rows: str) -> None:
    database = Database(url)
    began = time.monotonic()
    for statement in _SESSION:
        database.run(statement)
    indexes = _take_indexes(database, table)
    database.run(rows)
    say(f"  rows of {table} took {time.monotonic() - began:.0f} s")
    for statement in (*indexes, f"VACUUM (ANALYZE) {table}"):
        database.run(statement)
    say(f"  {table} took {time.monotonic() - began:.0f} s with its {len(indexes)} indexes")
    database.close()


def _take_indexes(database: Database, table: str) -> list[str]:
    """Drop all but the primary key and what foreign keys lean on; the statements for later."""
    again = []
    for name, definition in database.rows(_UNIQUE, table):
        database.run(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        again.append(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    for name, definition in database.rows(_INDEXES, table, f"{table}_pkey"):
        if not database.rows(_LEANED_ON, name):
            database.run(f"DROP INDEX {name}")
            again.append(definition)
    return again


_SESSION = (
    "SET maintenance_work_mem = '1GB'",
    "SET max_parallel_maintenance_workers = 2",
    "SET synchronous_commit = off",
)
_UNIQUE = (
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint c"
    " WHERE conrelid = %s::regclass AND contype = 'u' AND NOT EXISTS"
    " (SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = c.conindid)"
)
_INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexname <> %s"
_LEANED_ON = "SELECT 1 FROM pg_constraint WHERE conindid = %s::regclass"

# Version 7 in form, rising, and older than any that is made today.
_ID = "('018f' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid"
_ROWS = {
    "messaging_outboxmessage": """
        INSERT INTO messaging_outboxmessage (event_id, message_id, type, material_id, revision,
            body, header_table, consumer, state, attempts, last_error, created_at, due_at, sent_at)
        SELECT {id}, '', 'material.published', 'article-' || n % {materials},
            n / {materials} + 1, 'sent long ago', '', '', 'sent', 0, '',
            now() - interval '1 day', now() - interval '1 day', now() - interval '1 day'
        FROM generate_series(0, {facts} - 1) AS n
    """,
    "messaging_inboxreceipt": """
        INSERT INTO messaging_inboxreceipt (consumer, event_id, type, material_id, revision,
            outcome, fingerprint, content_fingerprint, names_revision, duplicates)
        SELECT 'catalog', {id}, 'material.published', 'article-' || n % {materials},
            n / {materials} + 1, 'applied', decode(repeat('ab', 32), 'hex'),
            decode(repeat('cd', 32), 'hex'), true, 0
        FROM generate_series(0, {facts} - 1) AS n
    """,
    "materials_material": """
        INSERT INTO materials_material (material_id, title, summary, body, language, tags,
            version, state, revision, differs, search_key, created_by, created_at, updated_by,
            updated_at)
        SELECT 'article-' || n, 'A title of usual length', 'A sentence for readers.',
            repeat('Some *Markdown* text. ', 14), 'en', '[]', 1, 'published',
            {facts} / {materials}, false, ' article-' || n || ' a title of usual length',
            'editor', now() - n * interval '1 second', 'editor', now() - n * interval '1 second'
        FROM generate_series(0, {materials} - 1) AS n
    """,
    "catalog_entry": """
        INSERT INTO catalog_entry (material_id, revision, replaced_revision, visible, title,
            summary, body, language, tags, published_at, withdrawn_reason, event_id, words)
        SELECT 'article-' || n, {facts} / {materials}, {facts} / {materials} - 1, true,
            'A title of usual length', 'A sentence for readers.',
            repeat('Some *Markdown* text. ', 14), 'en', '[]', now() - n * interval '1 second', '',
            {id}, array_to_tsvector(ARRAY['title', 'w' || n % 7001, 'w' || n % 5003,
                'w' || n % 3001, 'w' || n % 997, 'w' || n % 499, 'w' || n % 101, 'w' || n % 11])
        FROM generate_series(0, {materials} - 1) AS n
    """,
}
