"""Messages as values: what is published, and what a queue delivered.

pika cuts floats to integers, cannot encode them, and lets one odd header end the connection;
so its table codec is replaced by `field_table` here, once, before any connection is made.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pika
import pika.data
import pika.spec

from messaging.broker import field_table
from messaging.broker.confirms import Route


class Message(NamedTuple):
    """One message to publish: persistent, mandatory, JSON, from this application."""

    exchange: str
    routing_key: str
    body: bytes
    message_id: str | None
    type: str | None
    timestamp: int  # seconds since 1970, UTC
    headers: Mapping[str | bytes, object] = MappingProxyType({})

    @property
    def route(self) -> Route:
        return (self.message_id or "", self.exchange, self.routing_key)


class Delivery(NamedTuple):
    """One message from a queue; `tag` belongs to the session that delivered it, and to no other."""

    tag: int
    redelivered: bool
    body: bytes
    message_id: str | None
    type: str | None
    headers: Mapping[str | bytes, object]
    properties: Mapping[str, object]
    queue: str = ""


def delivery(
    method: pika.spec.Basic.Deliver,
    properties: pika.BasicProperties,
    body: bytes,
    *,
    queue: str = "",
) -> Delivery:
    """A pika delivery as our own value."""
    return Delivery(
        tag=method.delivery_tag,
        redelivered=bool(method.redelivered),
        body=body,
        message_id=_text(properties.message_id),
        type=_text(properties.type),
        headers=properties.headers or {},
        properties=_Properties(properties),
        queue=queue,
    )


class _Properties(Mapping[str, object]):
    """Those that a message has, by name. Read when asked: of most messages nobody asks."""

    __slots__ = ("_properties",)

    def __init__(self, properties: pika.BasicProperties) -> None:
        self._properties = properties

    def __getitem__(self, name: str) -> object:
        value = getattr(self._properties, name) if name in _PROPERTY_NAMES else None
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in _PROPERTY_NAMES if getattr(self._properties, name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_PROPERTY_NAMES = (
    "content_type",
    "content_encoding",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _install_table_codec() -> None:
    pika.data.decode_table = field_table.decode_table
    pika.data.encode_table = field_table.encode_table


_install_table_codec()
