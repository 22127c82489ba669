"""The hot queries as the product asks them, each with the plan that PostgreSQL makes.

`python -m bench.plans FACTS` in the environment of a database with rows that wait: the relay
sends some and the consumers apply the facts of that file, while every statement is noted; then
each is explained in a transaction that is rolled back. Markdown goes to standard output.
"""

import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import django

HOT = re.compile(r"\s*(SELECT|INSERT|UPDATE)\b", re.IGNORECASE)
TABLES = ("messaging_outboxmessage", "messaging_inboxreceipt", "catalog_entry", "audit_record")
LONGEST_QUERY = 600


def main() -> None:
    django.setup()
    from django.db import connection

    from bench.facts import read_facts

    noted: dict[str, tuple[str, Any]] = {}

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if HOT.match(sql) and any(table in sql for table in TABLES):
            noted.setdefault(_shape(sql), (sql, params))
        return execute(sql, params, many, context)

    bodies = [fact.body for fact in read_facts(Path(sys.argv[1]))]
    with connection.execute_wrapper(note):
        _relay()
        _consume(bodies)
    for shape, (sql, params) in noted.items():
        print(f"```sql\n{shape}\n```\n\n```\n{_explain(sql, params)}\n```\n")


def _relay() -> None:
    """Send for a moment."""
    from django.db import DEFAULT_DB_ALIAS

    from messaging.broker.sessions import topology
    from messaging.running.process import Lifetime
    from messaging.sending.relay import Relay

    with Lifetime() as lifetime:
        threading.Timer(1.5, lifetime.stop).start()
        Relay(topology(), lifetime, using=DEFAULT_DB_ALIAS).run()


def _consume(bodies: Sequence[bytes]) -> None:
    """Apply new facts, then the same again; all of it is rolled back, to be explained as new."""
    from django.db import transaction

    from messaging import registry
    from messaging.envelope import decode
    from messaging.handling import inbox

    events = [decode(body, registry.event_types()) for body in bodies]
    with transaction.atomic():
        for consumer in registry.consumers():
            for _ in range(2):
                inbox.handle(consumer, events)
        transaction.set_rollback(True)


def _explain(sql: str, params: Any) -> str:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", params)
        lines = [_cut(row[0], 200) for row in cursor.fetchall()]
        transaction.set_rollback(True)
    return "\n".join(lines)


def _shape(sql: str) -> str:
    """Without the numbers and with lists of marks cut short, so that one query is told once."""
    text = re.sub(r"\s+", " ", sql).strip()
    text = re.sub(r"\((?:(?:%s|\d+)(?:::\w+)?, ?)+(?:%s|\d+)(?:::\w+)?\)", "(…)", text)
    return _cut(text, LONGEST_QUERY)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} …"


if __name__ == "__main__":
    main()
