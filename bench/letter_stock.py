"""Dead letters of any number, made set by set: some kinds of failure, most of them settled.

Three of ten are open. Every body says the same few words; one in a thousand says `seldom`, one in
a hundred thousand `unheard`, and so do the errors. Ten letters a material.
"""

from django.db import connection

REASONS = (
    "SimulatedTransientError",
    "OperationalError",
    "MalformedEvent",
    "UnsupportedEvent",
    "FactConflict",
    "TimeoutError",
    "KeyError",
    "LockTimeout",
)
PLACES = 40
LETTERS_A_MATERIAL = 10
RECEIPTS_A_LETTER = 0.2
_REST = (
    " A delivery is not finished work: before the commit a crash leaves no effect, and the message "
    "comes back; after the commit the effect is there and it comes back too. What is acked is a "
    'chosen effect, and who has finished is not disturbed."}}'
)


def fill(letters: int) -> None:
    """Fill an empty, migrated database, and tell the planner what is there."""
    on_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if on_postgresql:
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("SET synchronous_commit = off")
        cursor.execute(_letters(letters, on_postgresql=on_postgresql))
        cursor.execute(_receipts(int(letters * RECEIPTS_A_LETTER), on_postgresql=on_postgresql))
        cursor.execute("VACUUM (ANALYZE)" if on_postgresql else "ANALYZE")


def event_id(number: int) -> str:
    """The id of that letter's event."""
    return f"00000000-0000-7000-8000-{number:012x}"


def _letters(count: int, *, on_postgresql: bool) -> str:
    digest = "decode(lpad(to_hex(n), 64, '0'), 'hex')" if on_postgresql else "printf('%064x', n)"
    body = "convert_to(text, 'UTF8')" if on_postgresql else "CAST(text AS BLOB)"
    died = (
        "now() - n * interval '7 seconds'"
        if on_postgresql
        else "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n * 7) || ' seconds')"
    )
    columns = {
        "consumer": "CASE WHEN n / 16 % 5 < 3 THEN 'catalog' ELSE 'audit' END",
        "state": "CASE WHEN n % 10 < 3 THEN 'open' WHEN n % 10 < 8 THEN 'resolved' "
        "WHEN n % 100 = 8 THEN 'requeued' ELSE 'discarded' END",
        "reason": _one_of(REASONS),
        "error": "'The store did not answer ' || said || ' at ' || n",
        "place": f"'materials/projection.py, step_' || (n * 7 % {PLACES})",
        "attempt": "3",
        "event_id": _uuid("n", on_postgresql=on_postgresql),
        "type": "'material.published'",
        "material_id": f"'article-' || (n / {LETTERS_A_MATERIAL})",
        "revision": f"1 + n % {LETTERS_A_MATERIAL}",
        "body": body,
        "body_sha256": digest,
        "body_size": "length(text)",
        "body_text": "text",
        "header_table": body,
        "headers": "'{}'",
        "properties": "'{}'",
        "died_at": died,
        "first_died_at": died,
        "collected_at": died,
        "changed_at": died,
        "copies": "1",
        "deaths": "1",
    }
    said = (
        "CASE WHEN n % 100000 = 72 THEN 'unheard' WHEN n % 1000 = 1 THEN 'seldom' ELSE 'often' END"
    )
    title = '", "data": {"title": "Queues that forgive", "body": "'
    text = f"""'{{"eventId": "' || n || '{title}' || said || ' ' || n || '{_REST}'"""
    return f"""
        INSERT INTO messaging_deadletter ({", ".join(columns)})
        SELECT {", ".join(columns.values())}
        FROM (
            SELECT n, said, {text} AS text
            FROM (SELECT n, {said} AS said FROM {_series(count, on_postgresql=on_postgresql)}) AS m
        ) AS made
    """


def _receipts(count: int, *, on_postgresql: bool) -> str:
    """Of the third revision of every material: two of its letters are superseded."""
    print_wide = "decode(lpad(to_hex(n), 64, '0'), 'hex')" if on_postgresql else "zeroblob(32)"
    columns = {
        "consumer": "'catalog'",
        "event_id": _uuid("n + 1000000000", on_postgresql=on_postgresql),
        "type": "'material.published'",
        "material_id": "'article-' || n",
        "revision": "3",
        "outcome": "'applied'",
        "fingerprint": print_wide,
        "content_fingerprint": print_wide,
        "names_revision": "true",
        "duplicates": "0",
        "handled_at": "now()" if on_postgresql else "strftime('%Y-%m-%d %H:%M:%f', 'now')",
    }
    return f"""
        INSERT INTO messaging_inboxreceipt ({", ".join(columns)})
        SELECT {", ".join(columns.values())}
        FROM {_series(count, on_postgresql=on_postgresql)}
    """


def _series(count: int, *, on_postgresql: bool) -> str:
    if on_postgresql:
        return f"generate_series(1, {count}) AS s (n)"
    return f"""(
        WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count})
        SELECT n FROM s
    ) AS s"""


def _uuid(number: str, *, on_postgresql: bool) -> str:
    if on_postgresql:
        return f"('00000000-0000-7000-8000-' || lpad(to_hex({number}), 12, '0'))::uuid"
    return f"'00000000000070008000' || printf('%012x', {number})"


def _one_of(names: tuple[str, ...]) -> str:
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(names))
    return f"CASE n * 13 % {len(names)} {cases} END"
