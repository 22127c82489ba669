"""A message as AMQP frames, ready to be written; and the few other frames that go out in numbers.

By hand where pika's own writer takes half of all the time.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pika
import pika.frame
import pika.spec

from messaging.broker import field_table
from messaging.broker.wire import Message

PERSISTENT = 2
MAX_SHORT_STRING_BYTES = 255


class Unencodable(ValueError):
    """AMQP has no form for this message: an id, key or header is too long or of a foreign type."""


def publish_frames(message: Message, *, channel_number: int, body_max_bytes: int) -> bytes:
    """The frames of one basic.publish, joined. Raises Unencodable."""
    try:
        method = _publish_frame(channel_number, message.exchange, message.routing_key)
        header = _header(message)
        body = _body_frames(message.body, channel_number, body_max_bytes)
        head = _FRAME_HEAD.pack(_HEADER, channel_number, len(header))
        joined = b"".join([method, head, header, _FRAME_END, *body])
    except Unencodable:
        raise
    except Exception as error:
        # struct.error, UnicodeEncodeError, AssertionError …: whatever the codec says of one
        # message, it is that message's own fault. The words of ValueErrors are our own.
        words = f": {error}" if type(error) is ValueError else ""
        raise Unencodable(f"{type(error).__name__} while encoding{words}") from error
    if len(header) > body_max_bytes:
        # The broker would close the connection, and with it all that is under way.
        raise Unencodable(f"the headers take {len(header)} bytes; a frame has {body_max_bytes}")
    return joined


def look_frames(queues: Sequence[str], *, channel_number: int) -> bytes:
    """The frames that ask whether these queues are there: one confirm.select-ok comes if all are.

    A passive queue.declare that wants no answer is judged by the channel alone; one that wants its
    answer counts messages in the queue, for which a busy queue takes milliseconds. To select
    confirms once more changes nothing and is answered behind all of them.
    """
    questions = [
        pika.spec.Queue.Declare(queue=queue, passive=True, nowait=True) for queue in queues
    ]
    return b"".join(
        pika.frame.Method(channel_number, each).marshal()
        for each in (*questions, pika.spec.Confirm.Select())
    )


def ack_frame(tag: int, *, channel_number: int) -> bytes:
    """One basic.ack. By hand: hundreds may go out at once, and pika takes 15 us for each."""
    index = pika.spec.Basic.Ack.INDEX
    return _ACK_FRAME.pack(
        pika.spec.FRAME_METHOD, channel_number, 13, index, tag, 0, pika.spec.FRAME_END
    )


def _header(message: Message) -> bytes:
    """The content header. By hand: pika's own writer takes half of all the relay's time.

    The order and the flags of properties: AMQP 0-9-1, sections 2.3.5.2 and 4.2.6.1.
    """
    type_flag, end = _end_of_header(message.type)
    flags, message_id = _ALWAYS_PRESENT | type_flag, b""
    if message.message_id is not None:
        flags |= _HAS_MESSAGE_ID
        message_id = _short_string("message_id", message.message_id)
    return b"".join(
        [
            _CONTENT_HEADER.pack(pika.spec.BasicProperties.INDEX, 0, len(message.body), flags),
            _CONTENT_TYPE,
            _table(message.headers),
            _DELIVERY_MODE,
            message_id,
            _TIMESTAMP.pack(message.timestamp),
            end,
        ]
    )


@lru_cache(maxsize=64)
def _end_of_header(kind: str | None) -> tuple[int, bytes]:
    if kind is None:
        return 0, _APP_ID
    return pika.BasicProperties.FLAG_TYPE, _short_string("type", kind) + _APP_ID


def _table(headers: Mapping[str | bytes, object]) -> bytes:
    attempt = headers.get("attempt")
    if len(headers) == 1 and type(attempt) is int:
        return _table_of_attempt(attempt)
    pieces: list[bytes] = []
    field_table.encode_table(pieces, headers)
    return b"".join(pieces)


@lru_cache(maxsize=8)
def _table_of_attempt(attempt: int) -> bytes:
    pieces: list[bytes] = []
    field_table.encode_table(pieces, {"attempt": attempt})
    return b"".join(pieces)


def _short_string(name: str, text: str) -> bytes:
    encoded = str.encode(text)
    if len(encoded) > MAX_SHORT_STRING_BYTES:
        raise Unencodable(f"{name} has {len(encoded)} bytes; AMQP allows {MAX_SHORT_STRING_BYTES}")
    return bytes((len(encoded),)) + encoded


def _body_frames(body: bytes, channel_number: int, body_max_bytes: int) -> Iterator[bytes]:
    for start in range(0, len(body), body_max_bytes):
        piece = body[start : start + body_max_bytes]
        yield _FRAME_HEAD.pack(_BODY, channel_number, len(piece))
        yield piece
        yield _FRAME_END


_FRAME_HEAD = struct.Struct(">BHI")
# Type, channel and size of the frame; class and method; tag; not `multiple`; end.
_ACK_FRAME = struct.Struct(">BHIIQBB")
_FRAME_END = bytes((pika.spec.FRAME_END,))
_HEADER, _BODY = pika.spec.FRAME_HEADER, pika.spec.FRAME_BODY
_CONTENT_HEADER = struct.Struct(">HHQH")
_TIMESTAMP = struct.Struct(">Q")
_HAS_MESSAGE_ID = pika.BasicProperties.FLAG_MESSAGE_ID
_ALWAYS_PRESENT = (
    pika.BasicProperties.FLAG_CONTENT_TYPE
    | pika.BasicProperties.FLAG_HEADERS
    | pika.BasicProperties.FLAG_DELIVERY_MODE
    | pika.BasicProperties.FLAG_TIMESTAMP
    | pika.BasicProperties.FLAG_APP_ID
)
_CONTENT_TYPE = _short_string("content_type", "application/json")
_DELIVERY_MODE = bytes((PERSISTENT,))
_APP_ID = _short_string("app_id", "catalogsite")


@lru_cache(maxsize=64)
def _publish_frame(channel_number: int, exchange: str, routing_key: str) -> bytes:
    _short_string("exchange", exchange)
    _short_string("routing_key", routing_key)
    publish = pika.spec.Basic.Publish(exchange=exchange, routing_key=routing_key, mandatory=True)
    return bytes(pika.frame.Method(channel_number, publish).marshal())
