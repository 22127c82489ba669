"""How many events a second `consume catalog` applies, beside the plainest loop that could.

    .venv/bin/python -m bench.consume [--events 20000] [--rounds 3]

Starts a RabbitMQ node of its own; the database is DATABASE_URL (it is migrated and written to),
or an SQLite file of its own. The other loop has no checks, retries, metrics or reconnecting: raw
driver, one statement for receipts and one for the projection, 500 messages a transaction. Both
get the same events, in turn, round by round.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pika

from dev.rabbitmq import RabbitNode

PROJECT = Path(__file__).resolve().parent.parent
BATCH, PREFETCH = 500, 1000
MATERIALS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="catalogsite-bench-") as folder:
        node = RabbitNode(Path(folder) / "broker")
        node.start()
        try:
            prepare(node, folder)
            measure(events=options.events, rounds=options.rounds)
        finally:
            node.stop()


def prepare(node: RabbitNode, folder: str) -> None:
    os.environ.update(
        AMQP_URL=node.amqp_url,
        DELIVERY_NAMESPACE=f"bench-{uuid.uuid4().hex[:8]}",
        DATABASE_URL=os.environ.get("DATABASE_URL", f"sqlite:///{folder}/b.sqlite3"),
        SECRET_KEY="for a measurement alone",
        LOG_LEVEL="WARNING",
        DJANGO_SETTINGS_MODULE="catalogsite.settings",
    )
    for command in (["migrate", "--verbosity=0"], ["declare_topology"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=PROJECT, check=True)
    import django

    django.setup()


def measure(*, events: int, rounds: int) -> None:
    loops = {"consume catalog": consume, "raw loop": raw_loop()}
    rates: dict[str, list[float]] = {name: [] for name in loops}
    for number in range(rounds):
        for name, loop in loops.items():
            clear()
            publish(events)
            began = time.perf_counter()
            loop(events)
            rates[name].append(events / (time.perf_counter() - began))
            print(f"round {number + 1}  {name:16} {rates[name][-1]:8.0f} /s", flush=True)
    for name, found in rates.items():
        print(f"median   {name:16} {statistics.median(found):8.0f} /s")
    shares = [a / b for a, b in zip(*rates.values(), strict=True)]
    print(f"share of the raw loop: {statistics.median(shares):.2f}")


def consume(_events: int) -> None:
    from messaging import registry
    from messaging.broker.sessions import topology
    from messaging.process import Lifetime
    from messaging.worker import Worker

    with Lifetime(catch_signals=False) as lifetime:
        Worker(registry.consumer("catalog"), topology(), lifetime, once=True).run()


def raw_loop() -> Callable[[int], None]:
    if os.environ["DATABASE_URL"].startswith("sqlite"):
        from django.conf import settings

        database = sqlite3.connect(settings.DATABASES["default"]["NAME"], isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        return lambda events: drain(events, lambda rows: _apply_sqlite(database, rows))
    import psycopg

    server = psycopg.connect(os.environ["DATABASE_URL"])
    return lambda events: drain(events, lambda rows: _apply_postgresql(server, rows))


def drain(events: int, apply: Callable[[list[dict]], None]) -> None:
    connection, channel = _broker()
    channel.basic_qos(prefetch_count=PREFETCH)
    arrived: list[tuple[int, bytes]] = []
    channel.basic_consume(
        _queue(), lambda _c, method, _p, body: arrived.append((method.delivery_tag, body))
    )
    done = 0
    while done < events:
        connection.process_data_events(time_limit=1 if not arrived else 0)
        if not arrived:
            continue
        batch, arrived[:] = arrived[:BATCH], arrived[BATCH:]
        apply([json.loads(body) for _, body in batch])
        channel.basic_ack(batch[-1][0], multiple=True)
        done += len(batch)
    connection.close()


def _newest(events: list[dict]) -> list[dict]:
    newest: dict[str, dict] = {}
    for event in events:
        known = newest.get(event["materialId"])
        if known is None or known["revision"] < event["revision"]:
            newest[event["materialId"]] = event
    return [newest[name] for name in sorted(newest)]


_RECEIPT = "messaging_inboxreceipt (consumer, event_id, type, material_id, revision, outcome,"
_REST = " fingerprint, content_fingerprint, names_revision, duplicates)"
_ENTRY = (
    "catalog_entry (material_id, revision, visible, title, summary, body, language, tags,"
    " published_at, withdrawn_reason, event_id, replaced_revision, applied_at)"
)
_NEWER = (
    " ON CONFLICT (material_id) DO UPDATE SET revision = excluded.revision,"
    " title = excluded.title, summary = excluded.summary, body = excluded.body,"
    " published_at = excluded.published_at, event_id = excluded.event_id"
    " WHERE catalog_entry.revision < excluded.revision"
)


def _apply_postgresql(server: object, events: list[dict]) -> None:
    newest = _newest(events)
    with server.transaction(), server.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_RECEIPT}{_REST} SELECT 'catalog', e, t, m, r, 'applied', '', '', true,"
            " 0 FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[]) AS x (e, t, m, r)"
            " ON CONFLICT DO NOTHING RETURNING event_id",
            [[event[name] for event in events] for name in _RECEIPT_FIELDS],
        )
        cursor.fetchall()
        cursor.execute(
            f"INSERT INTO {_ENTRY} SELECT m, r, true, t, s, b, '', '[]'::jsonb, p, '', e, 0, now()"
            " FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[],"
            f" %s::timestamptz[], %s::uuid[]) AS x (m, r, t, s, b, p, e){_NEWER}",
            [list(column) for column in zip(*map(_entry, newest), strict=True)],
        )


def _apply_sqlite(database: sqlite3.Connection, events: list[dict]) -> None:
    database.execute("BEGIN IMMEDIATE")
    database.executemany(
        f"INSERT INTO {_RECEIPT}{_REST} VALUES ('catalog', ?, ?, ?, ?, 'applied', '', '', 1, 0)"
        " ON CONFLICT DO NOTHING",
        [
            [
                event[name].replace("-", "") if name == "eventId" else event[name]
                for name in _RECEIPT_FIELDS
            ]
            for event in events
        ],
    )
    database.executemany(
        f"INSERT INTO {_ENTRY} VALUES (?, ?, 1, ?, ?, ?, '', '[]', ?, '', ?, 0, datetime())"
        + _NEWER,
        [(*_entry(event)[:-1], event["eventId"].replace("-", "")) for event in _newest(events)],
    )
    database.execute("COMMIT")


_RECEIPT_FIELDS = ("eventId", "type", "materialId", "revision")


def _entry(event: dict) -> tuple:
    data = event["data"]
    return (
        *(event["materialId"], event["revision"], data["title"], data["summary"], data["body"]),
        *(event["occurredAt"], event["eventId"]),
    )


def publish(events: int) -> None:
    from materials.events import published

    connection, channel = _broker()
    for number in range(events):
        event = published(
            material_id=f"article-{number % MATERIALS}",
            revision=number // MATERIALS + 1,
            title="A title of usual length",
            summary="A sentence that tells readers what they will find.",
            body="Some *Markdown*. " * 20,
        )
        channel.basic_publish(
            "", _queue(), event.body, pika.BasicProperties(headers={"attempt": 0}, delivery_mode=2)
        )
    while channel.queue_declare(_queue(), passive=True).method.message_count < events:
        time.sleep(0.1)
    connection.close()


def clear() -> None:
    from materials.catalog.models import CatalogEntry
    from messaging.models import InboxReceipt

    for model in (InboxReceipt, CatalogEntry):
        model.objects.all()._raw_delete("default")


def _broker() -> tuple[pika.BlockingConnection, object]:
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    return connection, connection.channel()


def _queue() -> str:
    return f"{os.environ['DELIVERY_NAMESPACE']}.catalog"


if __name__ == "__main__":
    main()
