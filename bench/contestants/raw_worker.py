"""The limit of a batching worker on PostgreSQL: plain pika and psycopg, nothing checked.

No validation, fingerprints, retries or dead letters; the words that readers search for are found
by the product's own function; receipts and effects of up to 500 messages
in one transaction, then one ack, as the product does it.
"""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import pika
import psycopg

from bench.timed import Done
from materials.search_keys import key_of

BATCH, PREFETCH = 500, 1000

Apply = Callable[["psycopg.Cursor[Any]", Sequence[dict[str, Any]], Sequence[bytes]], None]


def prepare(*, consumer: str, queue: str, until: int) -> Callable[[], Done]:
    database = psycopg.connect(os.environ["DATABASE_URL"])
    apply = _CONSUMERS[consumer]

    def work() -> Done:
        broker = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
        channel = broker.channel()
        channel.basic_qos(prefetch_count=PREFETCH)
        arrived: list[tuple[int, bytes]] = []
        channel.basic_consume(
            queue, lambda _c, method, _p, body: arrived.append((method.delivery_tag, body))
        )
        done = 0
        while done < until:
            broker.process_data_events(time_limit=1 if not arrived else 0)
            if not arrived:
                continue
            batch, arrived[:] = arrived[:BATCH], arrived[BATCH:]
            bodies = [body for _, body in batch]
            events = [json.loads(body) for body in bodies]
            with database.transaction(), database.cursor() as cursor:
                _insert_receipts(cursor, consumer, events)
                apply(cursor, events, bodies)
            channel.basic_ack(batch[-1][0], multiple=True)
            done += len(batch)
        broker.close()
        return Done(done)

    return work


def _insert_receipts(
    cursor: "psycopg.Cursor[Any]", consumer: str, events: Sequence[dict[str, Any]]
) -> None:
    fields = ("eventId", "type", "materialId", "revision")
    cursor.execute(
        "INSERT INTO messaging_inboxreceipt (consumer, event_id, type, material_id, revision,"
        " outcome, fingerprint, content_fingerprint, names_revision, duplicates)"
        " SELECT %s, e, t, m, r, 'applied', '', '', true, 0"
        " FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[]) AS x (e, t, m, r)"
        " ON CONFLICT DO NOTHING RETURNING event_id",
        [consumer, *([event[field] for event in events] for field in fields)],
    )
    cursor.fetchall()


def _apply_catalog(
    cursor: "psycopg.Cursor[Any]", events: Sequence[dict[str, Any]], _bodies: Sequence[bytes]
) -> None:
    newest: dict[str, dict[str, Any]] = {}
    for event in events:
        known = newest.get(event["materialId"])
        if known is None or known["revision"] < event["revision"]:
            newest[event["materialId"]] = event
    rows = [
        (
            material_id,
            newest[material_id]["revision"],
            newest[material_id]["data"]["title"],
            newest[material_id]["data"]["summary"],
            newest[material_id]["data"]["body"],
            newest[material_id]["occurredAt"],
            newest[material_id]["eventId"],
            key_of([newest[material_id]["data"][part] for part in ("title", "summary", "body")]),
        )
        for material_id in sorted(newest)
    ]
    cursor.execute(
        "INSERT INTO catalog_entry (material_id, revision, visible, title, summary, body,"
        " language, tags, published_at, withdrawn_reason, event_id, replaced_revision, applied_at,"
        " words) SELECT m, r, true, t, s, b, '', '[]'::jsonb, p, '', e, 0, now(),"
        " array_to_tsvector(string_to_array(btrim(w), ' '))"
        " FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[],"
        " %s::timestamptz[], %s::uuid[], %s::text[]) AS x (m, r, t, s, b, p, e, w)"
        " ON CONFLICT (material_id) DO UPDATE SET revision = excluded.revision,"
        " title = excluded.title, summary = excluded.summary, body = excluded.body,"
        " published_at = excluded.published_at, event_id = excluded.event_id,"
        " words = excluded.words WHERE catalog_entry.revision < excluded.revision",
        [list(column) for column in zip(*rows, strict=True)],
    )


def _apply_audit(
    cursor: "psycopg.Cursor[Any]", events: Sequence[dict[str, Any]], bodies: Sequence[bytes]
) -> None:
    fields = ("eventId", "type", "materialId", "revision", "occurredAt", "actor")
    cursor.execute(
        "INSERT INTO audit_record (event_id, type, material_id, revision, occurred_at, actor,"
        " envelope) SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[],"
        " %s::timestamptz[], %s::text[], %s::text[]) ON CONFLICT (event_id) DO NOTHING",
        [*([event[field] for event in events] for field in fields), [b.decode() for b in bodies]],
    )


_CONSUMERS: dict[str, Apply] = {"catalog": _apply_catalog, "audit": _apply_audit}
