"""The limit of publishing from Python: confirms pipelined, no database, no retries, one thread.

Persistent, mandatory, with the properties that the product sends; at most `window` messages
are unconfirmed at any time, and the frames of `chunk` messages go out in one write.
"""

import time
from collections.abc import Sequence

import pika
import pika.frame
import pika.spec
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from bench.facts import Fact

WINDOW, CHUNK = 1500, 500
CHANNEL = 1


class Refused(Exception):
    """The broker nacked or returned a message, or closed the connection."""


def publish(
    amqp_url: str,
    facts: Sequence[Fact],
    *,
    exchange: str,
    routing_key: str | None = None,
    window: int = WINDOW,
    chunk: int = CHUNK,
) -> None:
    """Returns when every message is confirmed. The routing key is the event's type by default."""
    _Publisher(facts, exchange, routing_key, window=window, chunk=chunk).run(amqp_url)


class _Publisher:
    def __init__(
        self,
        facts: Sequence[Fact],
        exchange: str,
        routing_key: str | None,
        *,
        window: int,
        chunk: int,
    ) -> None:
        self._facts, self._exchange, self._routing_key = facts, exchange, routing_key
        self._window, self._chunk = window, min(chunk, window)
        self._sent = 0
        self._open: dict[int, None] = {}
        self._lowest = 1
        self._fault: object = None
        self._finished = False

    def run(self, amqp_url: str) -> None:
        self._connection = SelectConnection(
            pika.URLParameters(amqp_url),
            on_open_callback=lambda connection: connection.channel(
                channel_number=CHANNEL, on_open_callback=self._opened
            ),
            on_open_error_callback=self._ended,
            on_close_callback=self._ended,
        )
        self._connection.ioloop.start()
        if not self._finished:
            raise Refused(f"{self._fault}; {len(self._facts) - self._sent} were never sent")

    def _opened(self, channel: Channel) -> None:
        channel.add_on_return_callback(self._returned)
        channel.confirm_delivery(self._confirmed, callback=lambda _: self._send())

    def _send(self) -> None:
        while self._sent < len(self._facts) and len(self._open) + self._chunk <= self._window:
            batch = self._facts[self._sent : self._sent + self._chunk]
            now = int(time.time())
            self._connection._output_marshaled_frames(
                [b"".join(self._frames(fact, now) for fact in batch)]
            )
            self._open.update(dict.fromkeys(range(self._sent + 1, self._sent + len(batch) + 1)))
            self._sent += len(batch)
        if self._sent == len(self._facts) and not self._open:
            self._finished = True
            self._connection.close()

    def _frames(self, fact: Fact, now: int) -> bytes:
        properties = pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,
            message_id=fact.event_id,
            type=fact.type,
            timestamp=now,
            app_id="catalogsite",
            headers={"attempt": 0},
        )
        publish = pika.spec.Basic.Publish(
            exchange=self._exchange, routing_key=self._routing_key or fact.type, mandatory=True
        )
        return b"".join(
            [
                pika.frame.Method(CHANNEL, publish).marshal(),
                pika.frame.Header(CHANNEL, len(fact.body), properties).marshal(),
                pika.frame.Body(CHANNEL, fact.body).marshal(),
            ]
        )

    def _confirmed(self, frame: "pika.frame.Method[pika.spec.Basic.Ack]") -> None:
        method = frame.method
        if not isinstance(method, pika.spec.Basic.Ack):
            self._fail("the broker nacked a message")
            return
        if method.multiple:
            while self._lowest <= method.delivery_tag:
                self._open.pop(self._lowest, None)
                self._lowest += 1
        else:
            self._open.pop(method.delivery_tag, None)
        self._send()

    def _returned(self, *_: object) -> None:
        self._fail("the broker returned a message")

    def _fail(self, fault: str) -> None:
        self._fault = fault
        self._connection.close()

    def _ended(self, connection: SelectConnection, error: object) -> None:
        self._fault = self._fault or error
        connection.ioloop.stop()
