"""Dead queues into the database: exact, once, whatever is repeated."""

import json
import time
from decimal import Decimal
from typing import Any

import pytest

from messaging.broker.field_table import LongString, Timestamp, decode_table
from messaging.models import DeadLetter, Death
from tests.messaging.facts import published
from tests.processes.collecting import bury, bury_event, collect_once, letter_of
from tests.processes.harness import Run
from tests.processes.queues import Queues

A_SECOND = 1_764_500_000


def test_a_letter_holds_the_exact_bytes_and_says_what_they_are(run: Run, queues: Queues) -> None:
    event = published("article-107", 3)
    bury_event(queues, "catalog", event, died_at=A_SECOND)

    assert collect_once() == 0

    letter = letter_of(event)
    assert bytes(letter.body) == event.body
    assert (letter.consumer, letter.state) == ("catalog", "open")
    assert (letter.type, letter.material_id, letter.revision) == (event.type, "article-107", 3)
    assert (letter.reason, letter.attempt) == ("SimulatedTransientError", 3)
    assert letter.died_at.timestamp() == letter.first_died_at.timestamp() == A_SECOND
    assert (letter.copies, letter.deaths, letter.body_size) == (1, 1, len(event.body))
    assert queues.ready("catalog") == {}


def test_every_property_and_every_kind_of_header_is_kept(run: Run, queues: Queues) -> None:
    headers: dict[Any, Any] = {
        "bytes": b"\x00\xff",
        "string": LongString(b"\xff"),
        "time": Timestamp(2**63),
        "decimal": Decimal("1.50"),
        "float": 2.5,
        "nested": {"deeper": [1, {"deepest": b"\x00"}, None, True]},
        b"\xfe": "a key that is no text",
        "nul": "a\0b",
    }
    properties: dict[str, Any] = {
        "content_type": "text/odd",
        "content_encoding": "gzip",
        "correlation_id": "c",
        "reply_to": "r",
        "expiration": "100000",
        "message_id": "m-1",
        "type": "t",
        "app_id": "somebody",
        "priority": 3,
        "user_id": "guest",
    }
    bury(queues, "audit", b"not json", headers=headers, died_at=A_SECOND, **properties)

    collect_once()

    letter = DeadLetter.objects.get()
    own = {"attempt": 0, "reason": "MalformedEvent", "consumer": "audit"}
    kept, _ = decode_table(bytes(letter.header_table), 0)
    assert kept == headers | own
    assert repr(kept) == repr(headers | own)
    assert letter.headers["bytes"] == {"base64": "AP8="}
    assert letter.headers["decimal"] == "1.50"
    assert letter.headers["nested"] == {"deeper": [1, {"deepest": {"base64": "AA=="}}, None, True]}
    assert letter.properties == properties | {"delivery_mode": 2, "timestamp": A_SECOND}
    assert letter.error.startswith("not JSON")
    json.dumps(letter.headers, allow_nan=False)


def test_copies_of_one_letter_are_one_record_with_a_count(run: Run, queues: Queues) -> None:
    event = published()
    for second in (0, 0, 7):
        bury_event(queues, "catalog", event, died_at=A_SECOND + second)
    bury_event(queues, "audit", event)

    collect_once()

    assert DeadLetter.objects.count() == 2
    letter = letter_of(event)
    assert (letter.copies, letter.deaths, letter.state) == (3, 1, "open")
    assert letter.died_at.timestamp() == A_SECOND + 7
    assert letter.first_died_at.timestamp() == A_SECOND
    assert Death.objects.filter(letter=letter).count() == 2


@pytest.mark.parametrize("reason", [None, "", "x" * 300, " \0\r\n"])
def test_a_missing_or_odd_reason_is_no_hindrance(
    run: Run, queues: Queues, reason: str | None
) -> None:
    bury(queues, "catalog", b"", reason=reason, attempt=None)

    assert collect_once() == 0

    letter = DeadLetter.objects.get()
    assert letter.reason == ("x" * 100 if reason == "x" * 300 else letter.reason)
    assert letter.reason
    assert (letter.attempt, letter.event_id, bytes(letter.body)) == (None, None, b"")


def test_it_collects_while_letters_come(run: Run, queues: Queues) -> None:
    started = time.monotonic()
    command = run("collect_dead_letters")
    command.wait_for("collecting")
    bury(queues, "catalog", b"first")
    command.wait_for("collected")
    print("seconds", time.monotonic() - started)

    assert command.terminate() == 0
    assert DeadLetter.objects.count() == 1
