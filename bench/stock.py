"""A library of any size, made set by set: materials, and all the records that their facts left.

Of a hundred materials 80 are published (two of them changed since), 15 are drafts and 5 are
withdrawn. Words, tags and authors are as unevenly spread as in life: the commonest word stands in
most texts, the rarest in a few. The last facts are still on their way: some wait in the outbox,
some are sent and not applied, some lie with the dead letters.
"""

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from django.db import connection, transaction

from bench.stage import say

WORDS_A_TEXT = 45
WAITING, SENT_ONLY, DEAD, PARKED = 200, 300, 100, 20
LANGUAGES = ("en", "ru", "de", "fr", "")
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)


def fill(materials: int, *, seed: int = 1) -> None:
    """Fill an empty, migrated database. Indexes are made after the rows, where that is quicker."""
    chance = random.Random(seed)
    on_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if on_postgresql:
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("SET maintenance_work_mem = '512MB'")
            cursor.execute("SET synchronous_commit = off")
            # No look at each foreign key: the rows are made of one another.
            cursor.execute("SET session_replication_role = replica")
        with transaction.atomic():
            indexes = _take_indexes(cursor)
            _write_materials(cursor, _materials(materials, chance), on_postgresql=on_postgresql)
            for statement in (*_facts(materials, on_postgresql=on_postgresql), *indexes):
                began = time.monotonic()
                cursor.execute(statement)
                say(f"  {time.monotonic() - began:6.1f} s  {statement[:70]}")
        cursor.execute("VACUUM (ANALYZE)" if on_postgresql else "ANALYZE")


def vocabulary() -> list[str]:
    """Eight thousand words, the commonest first."""
    chance = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < 8000:
        words["".join(chance.choices(syllables, k=chance.choice((2, 3, 3, 4))))] = None
    return list(words)


def tag(number: int) -> str:
    """The tags, the commonest first."""
    return f"topic {number}"


def author(number: int) -> str:
    return f"author{number:02}"


def material_id(number: int) -> str:
    return f"article-{number:07}"


_COLUMNS = (
    *("material_id", "title", "summary", "body", "language", "tags", "version", "state"),
    *("revision", "differs", "search_key", "created_by", "created_at", "updated_by"),
    "updated_at",
)


def _materials(count: int, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    from materials.search_keys import key_of

    texts = _text(vocabulary(), chance)
    tags, authors = [tag(number) for number in range(300)], [author(number) for number in range(40)]
    some_tags, some_authors = _text(tags, chance), _text(authors, chance)
    languages = chance.choices(LANGUAGES, weights=(60, 25, 8, 4, 3), k=500_000)
    for number in range(count):
        start = chance.randrange(len(texts) - WORDS_A_TEXT)
        text = texts[start : start + WORDS_A_TEXT]
        title, summary = " ".join(text[:5]).capitalize(), " ".join(text[5:17])
        body = " ".join(text[17:])
        start = start % (len(some_tags) - 5)
        chosen = list(dict.fromkeys(some_tags[start : start + number % 5]))
        who = some_authors[start]
        kind = chance.random()
        state, revision = ("published", 1) if kind < 0.8 else ("draft", 0)
        if kind >= 0.95:
            state, revision = "withdrawn", 2
        differs = state != "published" or kind < 0.016
        saved = NEWEST - timedelta(seconds=60 * chance.random() * count)
        name = material_id(number)
        # As `key_of` would write it, for words that are plain.
        parts = (name, *text[:5], *chosen, *text[5:])
        words = dict.fromkeys(" ".join(parts).replace("-", " ").split())
        key = "".join(f" {word}" for word in words)
        if number < 100 and key != key_of((name, title, *chosen, summary, body)):
            raise AssertionError("search keys are made in another way now")
        yield (
            *(name, title, summary, body, languages[start], json.dumps(chosen), 1, state),
            *(revision, differs, key, who, saved, who, saved),
        )


def _text(words: list[str], chance: random.Random) -> list[str]:
    """A long text of these words; how often each stands there falls with its rank."""
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    return chance.choices(words, cum_weights=weights, k=500_000)


def _write_materials(cursor: Any, rows: Iterator[tuple[Any, ...]], *, on_postgresql: bool) -> None:
    names = ", ".join(_COLUMNS)
    if on_postgresql:
        with cursor.copy(f"COPY materials_material ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    stored = connection.ops.adapt_datetimefield_value
    marks = ", ".join(["%s"] * len(_COLUMNS))
    cursor.executemany(
        f"INSERT INTO materials_material ({names}) VALUES ({marks})",
        (
            tuple(stored(part) if isinstance(part, datetime) else part for part in row)
            for row in rows
        ),
    )


def _take_indexes(cursor: Any) -> list[str]:
    """Drop what is no constraint; return the statements that make it again."""
    if connection.vendor != "postgresql":
        return []
    tables = (
        *("materials_material", "materials_revision", "messaging_outboxmessage"),
        *("messaging_inboxreceipt", "catalog_entry", "audit_record"),
    )
    cursor.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid::regclass::text = ANY(%s)"
        " AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE conindid <> 0)",
        [list(tables)],
    )
    found = cursor.fetchall()
    for name, _ in found:
        cursor.execute(f"DROP INDEX {name}")
    return [statement for _, statement in found]


def _facts(materials: int, *, on_postgresql: bool) -> list[str]:
    """One statement a table. Facts are numbered from the newest by `rank`."""
    new_id = "gen_random_uuid()" if on_postgresql else "lower(hex(randomblob(16)))"
    empty = "''::bytea" if on_postgresql else "x''"
    true = "true" if on_postgresql else "1"
    mark = (
        "sha256(convert_to(r.material_id || r.number, 'UTF8'))" if on_postgresql else "zeroblob(32)"
    )
    event = (
        "json_build_object('eventId', r.event_id, 'type', 'material.' || r.kind,"
        " 'schemaVersion', 1, 'occurredAt', r.happened_at, 'materialId', r.material_id,"
        " 'revision', r.number, 'actor', r.actor, 'data', json_build_object('title', r.title,"
        " 'summary', r.summary, 'body', r.body, 'language', r.language, 'tags', r.tags))::text"
    )
    if not on_postgresql:
        event = event.replace("json_build_object", "json_object").replace("::text", "")
    body = f"convert_to({event}, 'UTF8')" if on_postgresql else f"CAST({event} AS blob)"
    # The newest facts are those of the materials with the highest numbers.
    rank = f"({materials} - m.id)"
    dead = WAITING + SENT_ONLY
    parked = dead + DEAD
    statements = [
        "INSERT INTO materials_revision (material_id, number, kind, title, summary, body, language,"
        " tags, reason, actor, happened_at, event_id)"
        " SELECT material_id, 1, 'published', title, summary, body, language, tags, '', updated_by,"
        f" updated_at, {new_id} FROM materials_material WHERE revision >= 1",
        "INSERT INTO materials_revision (material_id, number, kind, title, summary, body, language,"
        " tags, reason, actor, happened_at, event_id)"
        " SELECT material_id, 2, 'withdrawn', '', '', '', '', '[]', 'Out of date.', updated_by,"
        f" updated_at, {new_id} FROM materials_material WHERE revision = 2",
        "INSERT INTO messaging_outboxmessage (event_id, message_id, type, material_id, revision,"
        " body, header_table, consumer, state, attempts, last_error, created_at, due_at, sent_at)"
        f" SELECT r.event_id, '', 'material.' || r.kind, r.material_id, r.number, {body}, {empty},"
        f" '', CASE WHEN {rank} < {WAITING} THEN 'pending'"
        f" WHEN {rank} >= {parked} AND {rank} < {parked + PARKED} THEN 'failed' ELSE 'sent' END,"
        " 0, '', r.happened_at, r.happened_at,"
        f" CASE WHEN {rank} < {WAITING} THEN NULL ELSE r.happened_at END"
        " FROM materials_revision r JOIN materials_material m USING (material_id) ORDER BY r.id",
    ]
    # Both consumers keep pace with each other.
    statements.append(
        "INSERT INTO messaging_inboxreceipt (consumer, event_id, type, material_id, revision,"
        " outcome, fingerprint, content_fingerprint, names_revision, duplicates, handled_at)"
        " SELECT c.name, r.event_id, 'material.' || r.kind, r.material_id, r.number,"
        f" 'applied', {mark}, {mark}, {true}, 0, r.happened_at"
        " FROM materials_revision r JOIN materials_material m USING (material_id)"
        " CROSS JOIN (SELECT 'catalog' AS name UNION ALL SELECT 'audit') AS c"
        f" WHERE {rank} >= {parked + PARKED} OR r.number < m.revision ORDER BY r.id"
    )
    nothing = "'{}'"
    # As the consumer would write them, for words that are plain.
    words = "lower(r.title || ' ' || r.summary || ' ' || r.body)"
    if on_postgresql:
        words = (
            f"CASE WHEN r.kind = 'published' THEN array_to_tsvector(string_to_array({words}, ' '))"
            " ELSE '' END"
        )
    return [
        *statements,
        "INSERT INTO messaging_deadletter (consumer, state, reason, error, place, attempt,"
        " event_id, type, material_id, revision, body, body_sha256, body_size, body_text,"
        " header_table, headers, properties, died_at, first_died_at, collected_at, copies, deaths,"
        " changed_at)"
        " SELECT 'catalog', 'open', 'FactConflict', '', '', 0, r.event_id, 'material.' || r.kind,"
        f" r.material_id, r.number, {body}, {mark if on_postgresql else 'randomblob(32)'}, 500, '',"
        f" {empty}, {nothing}, {nothing}, r.happened_at, r.happened_at, r.happened_at, 1, 1,"
        " r.happened_at"
        " FROM materials_revision r JOIN materials_material m USING (material_id)"
        f" WHERE {rank} >= {dead} AND {rank} < {parked} AND r.number = m.revision",
        "INSERT INTO catalog_entry (material_id, revision, replaced_revision, visible, title,"
        " summary, body, language, tags, published_at, withdrawn_at, withdrawn_reason, event_id,"
        f" applied_at{', words' if on_postgresql else ''})"
        " SELECT r.material_id, r.number, r.number - 1, r.kind = 'published', r.title, r.summary,"
        " r.body, r.language, r.tags, CASE WHEN r.kind = 'published' THEN r.happened_at END,"
        " CASE WHEN r.kind = 'withdrawn' THEN r.happened_at END, r.reason, r.event_id,"
        f" r.happened_at{', ' + words if on_postgresql else ''}"
        " FROM materials_revision r JOIN materials_material m"
        " ON m.material_id = r.material_id AND m.revision = r.number"
        f" WHERE {rank} >= {parked + PARKED} ORDER BY r.material_id",
        "INSERT INTO audit_record (event_id, type, material_id, revision, occurred_at, received_at,"
        " actor, envelope)"
        " SELECT r.event_id, 'material.' || r.kind, r.material_id, r.number, r.happened_at,"
        f" r.happened_at, r.actor, {event} FROM materials_revision r ORDER BY r.id",
        *(
            []
            if on_postgresql
            else [
                f"INSERT INTO catalog_text (material_id, words) SELECT r.material_id, {words}"
                " FROM catalog_entry r WHERE visible"
            ]
        ),
    ]
