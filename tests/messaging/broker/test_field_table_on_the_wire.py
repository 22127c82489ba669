"""The table codec in pika's place, against a real broker: what others send, and what comes back."""

import struct
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pika.data
import pytest

import messaging.broker.wire  # noqa: F401 - puts the codec in pika's place
from messaging.broker.field_table import LongString, Timestamp, Undecodable, carried
from messaging.envelope import read_attempt
from messaging.errors import InvalidAttempt
from tests.wire import Wire


@pytest.fixture
def queue(wire: Wire) -> Iterator[str]:
    name = f"headers-{uuid.uuid4().hex[:12]}"
    wire.channel.queue_declare(name, durable=True)
    yield name
    wire.delete_queue(name)


def received(wire: Wire, queue: str) -> dict[Any, Any]:
    message = wire.get(queue)
    assert message is not None
    assert message.body == b"body"
    return message.headers


def publish_raw(wire: Wire, queue: str, table: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers that no writer would write: their bytes are put into the frame as they are."""

    def write(pieces: list[bytes], _: object) -> int:
        pieces.append(table)
        return len(table)

    with monkeypatch.context() as patch:
        patch.setattr(pika.data, "encode_table", write)
        wire.publish(b"body", routing_key=queue, headers={})


def test_every_value_comes_back_from_the_broker(wire: Wire, queue: str) -> None:
    headers = {
        "float": 2.9,
        "wide": 2**63 - 1,
        "decimal": Decimal("1.50"),
        "time": Timestamp(2**63),
        "bytes": b"\xff",
        "string": LongString(b"\xff"),
        "nested": [{"a": [None, True, "я"]}],
        b"\xff": 1,
    }

    wire.publish(b"body", routing_key=queue, headers=headers)
    found = received(wire, queue)

    assert found == headers
    assert repr(found) == repr(headers)
    assert carried(found) == headers


def test_a_float_as_attempt_is_seen_as_a_float(wire: Wire, queue: str) -> None:
    wire.publish(b"body", routing_key=queue, headers={"attempt": 2.9})

    with pytest.raises(InvalidAttempt):
        read_attempt(received(wire, queue))


def test_a_table_990_levels_deep_leaves_the_connection_alive(
    wire: Wire, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b""
    for _ in range(990):
        content = b"\1kF" + struct.pack(">I", len(content)) + content
    content += b"\x07attemptb\x01"

    publish_raw(wire, queue, struct.pack(">I", len(content)) + content, monkeypatch)
    wire.publish(b"body", routing_key=queue, headers={"good": 1})
    found = received(wire, queue)
    neighbour = received(wire, queue)

    assert read_attempt(found) == 1
    assert carried(found) == {}
    assert neighbour == {"good": 1}


def test_equal_keys_and_a_time_beyond_datetime_pass(
    wire: Wire, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"\x07attemptb\x00" + b"\x01tT" + b"\xff" * 8 + b"\x07attemptb\x03"

    publish_raw(wire, queue, struct.pack(">I", len(content)) + content, monkeypatch)
    found = received(wire, queue)

    assert read_attempt(found) == 3
    assert found["t"] == Timestamp(2**64 - 1)
    assert not any(isinstance(value, Undecodable) for value in found.values())
