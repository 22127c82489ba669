"""The product: `consume NAME`, as its command builds it.

Done when the last ack is handed to the session. With `until` it stops after so many messages,
else (`--once`) when the queue is empty.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import django

from bench.timed import Done


def prepare(
    *, consumer: str, until: int | None = None, failing: Sequence[str] = ()
) -> Callable[[], Done]:
    """`failing` are materials whose events the handler refuses for good, inside the transaction."""
    django.setup()
    from django.db import connection

    from messaging import registry
    from messaging.broker.session import Session
    from messaging.broker.sessions import topology
    from messaging.errors import PermanentError
    from messaging.handling.worker import Worker
    from messaging.management.running import what_is_loaded_left_alone
    from messaging.running.process import Lifetime

    connection.ensure_connection()
    one = registry.consumer(consumer)
    if failing:
        refused = frozenset(failing)

        def refuse(events: Sequence[Any], using: str) -> set[str]:
            if any(event.material_id in refused for event in events):
                raise PermanentError("refused, to measure what that costs")
            return registry.consumer(consumer).apply(events, using)

        one = replace(one, apply=refuse)
    acked, ended = 0, 0.0
    ack = Session.ack

    def work() -> Done:
        with Lifetime() as lifetime, what_is_loaded_left_alone():

            def count(session: Session, deliveries: Sequence[Any]) -> None:
                nonlocal acked, ended
                ack(session, deliveries)
                acked, ended = acked + len(deliveries), time.monotonic()
                if acked == until:
                    lifetime.stop()

            setattr(Session, "ack", count)  # noqa: B010 - the one place that settles
            Worker(one, topology(), lifetime, once=until is None).run()
        return Done(acked, ended)

    return work
