"""Every body and header that can never work: collected, listed, shown, and sent back unchanged."""

import base64
import json
import struct
from collections import Counter
from io import StringIO
from typing import Any

import pika.data
import pytest
from django.core.management import call_command

from materials.audit.models import AuditRecord
from messaging.broker.field_table import decode_table
from messaging.models import DeadLetter
from tests.messaging.facts import published
from tests.processes.bad_messages import ATTEMPTS, BODIES
from tests.processes.collecting import bury, collect_once
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import relay_once
from tests.processes.working import consume_once


def dead_letters(*arguments: str) -> Any:
    """What the shell command prints as JSON."""
    out = StringIO()
    call_command("dead_letters", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_every_bad_body_is_listed_shown_and_requeued_byte_for_byte(
    run: Run, queues: Queues
) -> None:
    bodies = {body for body, _reason in BODIES.values()}
    reasons = dict(BODIES.values())
    queues.give("audit", *bodies)
    assert consume_once("audit") == 0

    assert collect_once() == 0

    listed = dead_letters("list")
    assert len(listed) == len(bodies)
    shown = [dead_letters("show", str(entry["id"])) for entry in listed]
    assert {base64.b64decode(letter["bodyBase64"]) for letter in shown} == bodies
    for letter in shown:
        assert letter["reason"] == reasons[base64.b64decode(letter["bodyBase64"])]
        assert letter["error"]
        call_command("dead_letters", "show", str(letter["id"]), stdout=StringIO())
    call_command("dead_letters", "list", stdout=StringIO())

    answers = dead_letters("requeue", "--all-matching", "--force", "--yes")
    relay_once()

    assert all(answer["done"] for answer in answers)
    returned = queues.wire.drain(queues.topology.main("audit"))
    assert Counter(message.body for message in returned) == Counter(bodies)


def test_every_bad_attempt_is_kept_and_a_requeue_mends_it(run: Run, queues: Queues) -> None:
    for number, attempt in enumerate(ATTEMPTS.values()):
        event = published(f"article-{number}")
        queues.give("audit", event.body, headers={"attempt": attempt}, message_id=event.event_id)
    consume_once("audit")
    collect_once()
    letters = list(DeadLetter.objects.all())
    assert {letter.reason for letter in letters} == {"InvalidAttempt"}
    kept = [decode_table(bytes(letter.header_table), 0)[0]["attempt"] for letter in letters]
    assert sorted(map(repr, kept)) == sorted(map(repr, ATTEMPTS.values()))
    assert {letter.attempt for letter in letters} == {None}

    answers = dead_letters("requeue", "--all-matching", "--yes")
    relay_once()
    consume_once("audit")
    collect_once()

    assert all(answer["done"] for answer in answers)
    assert AuditRecord.objects.count() == len(ATTEMPTS)
    assert set(DeadLetter.objects.values_list("state", flat=True)) == {"resolved"}


def test_header_tables_that_nobody_should_write_are_kept_and_hold_up_nothing(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = b""
    for _ in range(990):
        deep = b"\1kF" + struct.pack(">I", len(deep)) + deep
    tables = {
        "deep": deep,
        "twice": b"\x01ab\x01\x01ab\x02",
        "beyond datetime": b"\x01tT" + b"\xff" * 8,
        "no UTF-8 in key and value": b"\x01\xffS\x00\x00\x00\x01\xff",
    }
    for name, content in tables.items():
        _bury_raw(queues, name.encode(), content, monkeypatch)
    bury(queues, "catalog", b"the good one behind")

    assert collect_once() == 0

    letters = {bytes(letter.body).decode(): letter for letter in DeadLetter.objects.all()}
    assert letters.keys() == {*tables, "the good one behind"}
    kept = {name: decode_table(bytes(letters[name].header_table), 0)[0] for name in tables}
    assert kept["deep"] == {}
    assert "undecodable" in json.dumps(letters["deep"].headers)
    assert kept["twice"] == {"a": 2}
    assert kept["beyond datetime"]["t"] == 2**64 - 1
    assert kept["no UTF-8 in key and value"] == {b"\xff": b"\xff"}
    answers = dead_letters("requeue", "--all-matching", "--force", "--yes")
    relay_once()
    assert all(answer["done"] for answer in answers)
    assert len(queues.wire.drain(queues.topology.main("catalog"))) == len(letters)


def _bury_raw(queues: Queues, body: bytes, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    table = struct.pack(">I", len(content)) + content

    def write(pieces: list[bytes], _: object) -> int:
        pieces.append(table)
        return len(table)

    with monkeypatch.context() as patch:
        patch.setattr(pika.data, "encode_table", write)
        queues.send(body, exchange="", routing_key=queues.topology.dead("catalog"), headers={})
