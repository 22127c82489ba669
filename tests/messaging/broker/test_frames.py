"""The frames that are written by hand: byte for byte what pika's own writer makes of a message."""

import pika.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messaging.broker.frames import publish_frames
from messaging.broker.wire import Message

pytestmark = pytest.mark.any_database

BODY_MAX_BYTES = 400
SHORT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
HEADERS = st.fixed_dictionaries(
    {"attempt": st.integers(-(2**40), 2**40) | st.booleans() | st.text(max_size=9)},
    optional={"reason": st.text(st.characters(exclude_categories=["Cs"]), max_size=40)},
)


@given(SHORT, SHORT, HEADERS | st.just({}), st.integers(0, 2**33), st.binary(max_size=1000))
def test_a_message_becomes_the_same_frames_as_by_pika(
    message_id: str | None,
    kind: str | None,
    headers: dict[str | bytes, object],
    timestamp: int,
    body: bytes,
) -> None:
    message = Message("events", "key", body, message_id, kind, timestamp, headers)

    frames = publish_frames(message, channel_number=1, body_max_bytes=BODY_MAX_BYTES)

    assert frames == _by_pika(message)


def _by_pika(message: Message) -> bytes:
    properties = pika.BasicProperties(
        content_type="application/json",
        delivery_mode=2,
        message_id=message.message_id,
        type=message.type,
        timestamp=message.timestamp,
        app_id="catalogsite",
        headers=dict(message.headers),
    )
    publish = pika.spec.Basic.Publish(
        exchange=message.exchange, routing_key=message.routing_key, mandatory=True
    )
    body, size = message.body, BODY_MAX_BYTES
    frames = [
        pika.frame.Method(1, publish),
        pika.frame.Header(1, len(body), properties),
        *(pika.frame.Body(1, body[at : at + size]) for at in range(0, len(body), size)),
    ]
    return b"".join(frame.marshal() for frame in frames)
