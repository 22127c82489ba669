"""A long-running command obeys a stop signal also before it has begun and after it has ended.

Importing takes a second of work and Python's own way out a quarter of one, on a busy machine many
seconds, and nobody watches over them. Between the two the command takes the signals itself
(messaging.running.process.Lifetime). Imports as little as it can: it runs before all the rest.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LONG_RUNNING = frozenset(
    {
        "carry_out_batches",
        "collect_dead_letters",
        "consume",
        "declare_topology",
        "relay_outbox",
        "run_schedule",
    }
)


@contextmanager
def prompt_stop(arguments: list[str]) -> Iterator[None]:
    """Where the command line names such a command: exit 0 on SIGTERM or SIGINT until it begins,
    nothing being in hand, and no more than its last output written once it has ended.

    Not for the others: what `migrate` leaves unfinished is no end in good order.
    """
    if _LONG_RUNNING.isdisjoint(arguments[1:2]):
        yield
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    code = 0
    try:
        yield
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
