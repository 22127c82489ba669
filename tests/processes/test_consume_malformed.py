"""What can never work is dead at once, byte for byte, and costs its good neighbours nothing."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pika.data
import pytest

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging.envelope import MAX_BODY_BYTES
from messaging.models import FailedAttempt, InboxReceipt
from tests.eventually import eventually
from tests.messaging.event_bodies import EVENT_ID, as_bytes
from tests.messaging.event_bodies import published as document
from tests.messaging.facts import published
from tests.processes.bad_messages import ATTEMPTS, BODIES
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once


def test_every_malformed_body_is_dead_once_and_its_good_neighbours_are_applied(
    run: Run, queues: Queues
) -> None:
    consumer = run("consume", "catalog", "--prefetch", "20")
    consumer.wait_for("consuming")

    for number, (body, _) in enumerate(BODIES.values()):
        queues.give("catalog", body, headers={"attempt": number % 4}, message_id=f"bad {number}")
        queues.give("catalog", published(f"good-{number}").body)

    queues.await_ready("catalog", seconds=60, dead=len(BODIES))
    eventually(lambda: CatalogEntry.objects.count() == len(BODIES))
    dead = {each.properties.message_id: each for each in queues.dead("catalog")}
    for number, (name, (body, reason)) in enumerate(BODIES.items()):
        copy = dead[f"bad {number}"]
        assert copy.body == body, name
        assert copy.headers == {"attempt": number % 4, "reason": reason, "consumer": "catalog"}, (
            name
        )
    assert FailedAttempt.objects.count() == 0
    assert set(InboxReceipt.objects.values_list("outcome", flat=True)) == {"applied"}
    assert consumer.terminate() == 0  # before that the last records may not be written
    outcomes = Counter(record.get("outcome") for record in consumer.log)
    assert outcomes == {"dead": len(BODIES), "applied": len(BODIES), None: 1}
    assert len(consumer.stderr.splitlines()) == 2 * len(BODIES) + 1, "one record a line"
    assert "A title" not in consumer.stderr
    assert len(consumer.stderr) < 1000 * len(BODIES)


def test_every_wrong_attempt_is_dead_once_and_stays_as_it_came(run: Run, queues: Queues) -> None:
    consumer = run("consume", "catalog", SIMULATE_TEMPORARY="bad")
    events = [published("bad", number) for number, _ in enumerate(ATTEMPTS, start=1)]
    for event, attempt in zip(events, ATTEMPTS.values(), strict=True):
        queues.give("catalog", event.body, headers={"attempt": attempt, "else": 1.5})
        queues.give("catalog", published(f"good-{event.revision}").body, headers={"attempt": 1})

    queues.await_ready("catalog", dead=len(ATTEMPTS))

    eventually(lambda: CatalogEntry.objects.count() == len(ATTEMPTS))
    dead = {each.body: each for each in queues.dead("catalog")}
    for event, (name, attempt) in zip(events, ATTEMPTS.items(), strict=True):
        copy = dead[event.body]
        assert copy.headers == {
            "attempt": attempt,
            "else": 1.5,
            "reason": "InvalidAttempt",
            "consumer": "catalog",
        }, name
        assert type(copy.headers["attempt"]) is type(attempt), name
        assert copy.properties.message_id == event.event_id, "the body can be read all the same"
        assert copy.properties.type == event.type
    assert FailedAttempt.objects.count() == 0
    assert consumer.terminate() == 0  # before that the last records may not be written
    told = [record for record in consumer.log if record.get("outcome") == "dead"]
    assert {record["eventId"] for record in told} == {event.event_id for event in events}
    assert {record["attempt"] for record in told} == {None}


@pytest.mark.any_database
@pytest.mark.parametrize("attempt", [0, 1, 2, 3])
def test_a_right_attempt_is_right_in_every_integer_type_of_amqp(
    run: Run, long_delay: None, queues: Queues, attempt: int
) -> None:
    kinds = [b"b", b"B", b"s", b"u", b"I", b"i", b"l", b"L"]
    sizes = [1, 1, 2, 2, 4, 4, 8, 8]
    for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True), start=1):
        with raw_headers(b"\x07attempt" + kind + attempt.to_bytes(size, "big")):
            queues.give("audit", published("article-107", number).body, headers={"x": 1})

    consume_once("audit", simulate_temporary=frozenset({"article-107"}))

    target = queues.topology.retry("audit") if attempt < 3 else queues.topology.dead("audit")
    copies = queues.wire.drain(target)
    assert [copy.headers["attempt"] for copy in copies] == [min(attempt + 1, 3)] * len(kinds)


def nested(levels: int) -> bytes:
    table = b""
    for _ in range(levels):
        table = b"\x01a" + b"F" + len(table).to_bytes(4, "big") + table
    return table


ODD_HEADERS: dict[str, bytes] = {  # RabbitMQ itself refuses what it cannot read
    "nested 990 deep": nested(990),
    "a key that is not UTF-8": b"\x01\xff" + b"I\0\0\0\1",
    "attempt twice, the last counts": b"\x07attempt"
    + b"I\0\0\0\x63"
    + b"\x07attempt"
    + b"I\0\0\0\1",
    "an endless time": b"\x01a" + b"T" + b"\xff" * 8,
    "a decimal": b"\x01a" + b"D\x02\0\0\1\0",
    "an empty key": b"\0" + b"t\1",
    "a key of 255 bytes": b"\xff" + b"k" * 255 + b"V",
}


@pytest.mark.any_database
@pytest.mark.parametrize("odd", ODD_HEADERS.values(), ids=ODD_HEADERS.keys())
def test_headers_of_any_shape_change_nothing_for_an_event(
    run: Run, long_delay: None, queues: Queues, odd: bytes
) -> None:
    fails, works, after = published("article-107"), published("article-1"), published("article-2")
    with raw_headers(odd):
        for body in (fails.body, works.body, b"not an event"):
            queues.give("catalog", body, headers={"x": 1})
    queues.give("catalog", after.body)

    assert consume_once("catalog", simulate_temporary=frozenset({"article-107"})) == 0

    assert set(CatalogEntry.objects.values_list("material_id", flat=True)) == {
        "article-1",
        "article-2",
    }
    (dead,) = queues.dead("catalog")
    assert (dead.body, dead.headers["reason"]) == (b"not an event", "MalformedEvent")
    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    assert (copy.body, copy.headers["reason"]) == (fails.body, "SimulatedTransientError")


@pytest.mark.parametrize(
    "properties",
    [
        {"message_id": b"\xff\xfe", "type": b"\xff"},
        {"message_id": "x" * 255, "type": "y" * 255},
        {"correlation_id": b"\xff", "reply_to": "amq.rabbitmq.reply-to.x", "app_id": "other"},
        {"content_encoding": "gzip", "content_type": b"\xff"},
        {"timestamp": 2**63, "priority": 255, "delivery_mode": 1},
        {"type": "material.exploded"},
        {},
    ],
    ids=str,
)
def test_properties_of_any_kind_change_nothing_for_an_event(
    run: Run, long_delay: None, queues: Queues, properties: dict[str, Any]
) -> None:
    event = published("article-107")
    queues.give("catalog", event.body, b"\xff", published("article-1").body, **properties)

    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))

    assert CatalogEntry.objects.count() == 1
    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    assert (copy.body, copy.properties.message_id) == (event.body, event.event_id)
    kept = properties.get("type", event.type)
    assert copy.properties.type == (kept if isinstance(kept, str) else event.type)
    assert copy.properties.delivery_mode == 2
    (dead,) = queues.dead("catalog")
    assert dead.body == b"\xff"


def test_what_the_contract_allows_is_applied(run: Run, queues: Queues) -> None:
    sound = [
        as_bytes(document(eventId=EVENT_ID)) + b"\n",
        published("article-2", occurredAt="2024-01-01T00:00:00.123456789Z").body,
        published("article-3", occurredAt="2024-01-01T00:00:00+05:30").body,
        published("article-4", revision=2**31).body,
        published("article-5", extra={"any": ["thing", 1.5]}).body,
        published("a" * 64).body,
        largest_body(),
    ]
    queues.give("audit", *sound)

    consume_once("audit")

    assert queues.ready("audit") == {}
    assert [row.envelope.encode() for row in AuditRecord.objects.order_by("id")] == sound


def largest_body() -> bytes:
    empty = published("article-6", x="").body
    body = published("article-6", x="y" * (MAX_BODY_BYTES - len(empty))).body
    assert len(body) == MAX_BODY_BYTES
    return body


@contextmanager
def raw_headers(table: bytes) -> Iterator[None]:
    """Messages published meanwhile carry these very bytes as their header table."""

    def encode_table(pieces: list[bytes], _table: object) -> int:
        pieces.append(len(table).to_bytes(4, "big") + table)
        return len(table) + 4

    original = pika.data.encode_table
    pika.data.encode_table = encode_table
    try:
        yield
    finally:
        pika.data.encode_table = original
