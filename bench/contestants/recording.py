"""The product: `outbox.record()` in a transaction of its own, one event each."""

from collections.abc import Callable
from pathlib import Path

import django

from bench.timed import Done


def prepare(*, facts: str) -> Callable[[], Done]:
    django.setup()
    from django.db import connection, transaction

    from messaging import outbox, registry
    from messaging.envelope import decode

    connection.ensure_connection()
    bodies = Path(facts).read_bytes().splitlines()
    events = [decode(body, registry.event_types()) for body in bodies]

    def work() -> Done:
        for event in events:
            with transaction.atomic():
                outbox.record(event)
        return Done(len(events))

    return work
