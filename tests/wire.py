"""A plain AMQP client for the tests: what any other program would send and see."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pika
from pika.exceptions import AMQPError, ChannelClosedByBroker

CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Message:
    """One message as it lay in a queue."""

    body: bytes
    headers: dict[str, Any]
    properties: pika.BasicProperties = field(repr=False)
    exchange: str
    routing_key: str
    redelivered: bool


class Wire:
    """One connection, opened on first use and again after an error. Not for threads."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: pika.BlockingConnection | None = None
        self._channel: Any = None

    def publish(
        self,
        body: bytes,
        *,
        exchange: str = "",
        routing_key: str,
        headers: Mapping[str, Any] | None = None,
        **properties: Any,
    ) -> None:
        """Returns when the broker confirmed it. Raises where it was returned or refused."""
        settings: dict[str, Any] = {"delivery_mode": 2, "content_type": "application/json"}
        settings.update(properties)
        self.channel.basic_publish(
            exchange,
            routing_key,
            body,
            pika.BasicProperties(
                headers=dict(headers) if headers is not None else None, **settings
            ),
            mandatory=True,
        )

    def get(self, queue: str) -> Message | None:
        """Take one message out of the queue, or None when none is ready."""
        method, properties, body = self.channel.basic_get(queue, auto_ack=True)
        if method is None:
            return None
        return Message(
            body=body,
            headers=dict(properties.headers or {}),
            properties=properties,
            exchange=method.exchange,
            routing_key=method.routing_key,
            redelivered=method.redelivered,
        )

    def drain(self, queue: str) -> list[Message]:
        """Take every ready message out of the queue, in order."""
        messages = []
        while (message := self.get(queue)) is not None:
            messages.append(message)
        return messages

    def ready(self, queue: str) -> int:
        """How many messages wait to be delivered; those out for an ack do not count."""
        return int(self._declared(queue).message_count)

    def consumers(self, queue: str) -> int:
        return int(self._declared(queue).consumer_count)

    def exists(self, queue: str) -> bool:
        try:
            self._declared(queue)
        except ChannelClosedByBroker as error:
            if error.reply_code == 404:
                return False
            raise
        return True

    def bound_queue(self, exchange: str, routing_key: str = "#") -> str:
        """A queue of this connection's own that gets a copy of what passes the exchange."""
        name = f"copy-{uuid.uuid4().hex[:8]}"
        self.channel.queue_declare(name, exclusive=True)
        self.channel.queue_bind(name, exchange, routing_key)
        return name

    def delete_queue(self, queue: str) -> None:
        self.channel.queue_delete(queue)

    def delete_exchange(self, exchange: str) -> None:
        self.channel.exchange_delete(exchange)

    def close(self) -> None:
        """Closing twice, or after the broker is gone, is no error."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except AMQPError:
                return

    @property
    def channel(self) -> Any:
        """pika's channel, in confirm mode; a new one after the broker closed the last."""
        if self._channel is None or not self._channel.is_open:
            if self._connection is None or not self._connection.is_open:
                # No heartbeat: a test that looks elsewhere for a while must not lose it.
                parameters = pika.URLParameters(f"{self.url}?heartbeat=0")
                self._connection = pika.BlockingConnection(parameters)
            self._channel = self._connection.channel()
            self._channel.confirm_delivery()
        return self._channel

    def _declared(self, queue: str) -> Any:
        return self.channel.queue_declare(queue, passive=True).method
