"""Our standing at the terminal: usable standard streams, and Ctrl-C for us alone."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def ensure_streams() -> None:
    """A stream that the caller closed leads to /dev/null: no file of ours gets its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - for all our life
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


@contextmanager
def own_foreground() -> Iterator[None]:
    """While inside, Ctrl-C reaches this process and not the `make` that started it.

    `make` would end with an error for it, and we end in good order. Nothing changes where
    standard input is no terminal or another group has it.
    """
    if not _has_foreground():
        yield
        return
    before = os.getpgrp()
    stop_signals = {signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP}
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in stop_signals}
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    try:
        yield
    finally:
        os.tcsetpgrp(0, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _has_foreground() -> bool:
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp() and os.getpgrp() != os.getpid()
    except OSError:
        return False
