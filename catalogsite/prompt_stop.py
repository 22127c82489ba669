"""A stop signal that comes before a command has begun: nothing is in hand, so it ends at once.

Importing takes a second, on a busy machine many. The command itself then takes the signals
over (messaging.process.Lifetime). Imports as little as it can: it runs before all the rest.
"""

import os
import signal

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


def obey_stop_signals(arguments: list[str]) -> None:
    """End with exit 0 on SIGTERM or SIGINT, where the command line names such a command.

    Not for the others: what `migrate` leaves unfinished is no end in good order.
    """
    if not _LONG_RUNNING.isdisjoint(arguments[1:2]):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))
