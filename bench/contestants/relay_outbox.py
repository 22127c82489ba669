"""The product: `relay_outbox --once`, as its command builds it."""

from collections.abc import Callable

import django

from bench.timed import Done


def prepare(*, count: int) -> Callable[[], Done]:
    django.setup()
    from django.db import DEFAULT_DB_ALIAS, connection

    from messaging.broker.sessions import topology
    from messaging.management.running import what_is_loaded_left_alone
    from messaging.running.exit_codes import DONE
    from messaging.running.process import Lifetime
    from messaging.sending.relay import Relay

    connection.ensure_connection()

    def work() -> Done:
        with Lifetime() as lifetime, what_is_loaded_left_alone():
            code = Relay(topology(), lifetime, using=DEFAULT_DB_ALIAS, once=True).run()
        if code != DONE:
            raise RuntimeError(f"relay_outbox ended with {code}")
        return Done(count)

    return work
