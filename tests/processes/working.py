"""A consumer at work in a thread of the test: the real worker without the cost of a process.

Where signals, kills, exit codes or the log count, tests start the real command instead.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import connections

from messaging import registry
from messaging.broker.sessions import topology
from messaging.handling.worker import Worker
from messaging.registry import Apply
from messaging.running.process import Lifetime


class Working:
    """`exit_code` and `error` are set once it has ended."""

    def __init__(self, lifetime: Lifetime) -> None:
        self.lifetime = lifetime
        self.exit_code: int | None = None
        self.error: BaseException | None = None

    def stop(self) -> None:
        self.lifetime.stop()


@contextmanager
def working(name: str, *, apply: Apply | None = None, **options: Any) -> Iterator[Working]:
    """Consume in a thread until the block ends; raises what ended the worker before.

    `apply` stands in for the consumer's own handler. `options` are the worker's.
    """
    consumer = registry.consumer(name)
    if apply is not None:
        consumer = replace(consumer, apply=apply)
    with Lifetime(catch_signals=False) as lifetime:
        state = Working(lifetime)

        def work() -> None:
            try:
                state.exit_code = Worker(consumer, topology(), lifetime, **options).run()
            except BaseException as error:  # noqa: BLE001 - raised below, in the test's thread
                state.error = error
            finally:
                connections.close_all()

        thread = threading.Thread(target=work, name=f"consume {name}")
        thread.start()
        try:
            yield state
        finally:
            lifetime.stop()
            thread.join(60)
        assert not thread.is_alive(), "the worker did not stop"
        if state.error is not None:
            raise state.error


def consume_once(name: str, *, apply: Apply | None = None, **options: Any) -> int:
    """Consume in this thread until the queue is empty, as `consume NAME --once`; the exit code."""
    consumer = registry.consumer(name)
    if apply is not None:
        consumer = replace(consumer, apply=apply)
    with Lifetime(catch_signals=False) as lifetime:
        return Worker(consumer, topology(), lifetime, once=True, **options).run()
