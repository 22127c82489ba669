"""A session of the test's own, and messages to send through it."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.conf import settings

from messaging.broker.session import Session
from messaging.broker.sessions import topology
from messaging.broker.wire import Message
from messaging.running.process import Lifetime


@contextmanager
def a_session(*, lifetime: Lifetime | None = None, **address: Any) -> Iterator[Session]:
    """An open session with the broker of the settings; `address` are changes of its address."""
    with a_closed_session(lifetime=lifetime, **address) as session:
        assert session.open()
        yield session


@contextmanager
def a_closed_session(*, lifetime: Lifetime | None = None, **address: Any) -> Iterator[Session]:
    """The same before `open`; closed at the end, if it was opened."""
    with Lifetime(catch_signals=False) as own_lifetime:
        session = Session(
            replace(settings.AMQP, **address),
            topology(),
            lifetime or own_lifetime,
            name="a test",
        )
        try:
            yield session
        finally:
            session.close()


def to_queue(queue: str, body: bytes = b"{}", **changes: Any) -> Message:
    """A message for that queue alone, with an id of its own."""
    return message(exchange="", routing_key=queue, body=body, **changes)


def message(**changes: Any) -> Message:
    """An event's message, for whoever listens to `material.published`."""
    sound = Message(
        exchange=topology().events,
        routing_key="material.published",
        body=b"{}",
        message_id=str(uuid.uuid4()),
        type="material.published",
        timestamp=1_700_000_000,
        headers={"attempt": 0},
    )
    return sound._replace(**changes)
