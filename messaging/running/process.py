"""The life of a long-running command: stop signals, wake-ups, pauses and the last resort.

One `Lifetime` a process. Everything that waits in the main thread waits here, so that a
signal, the broker's thread or a database notification ends any wait at once.
"""

import random
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from messaging.running.exit_codes import DONE, FAILED
from messaging.running.watchdog import STOP_SIGNALS, Pipe, Watchdog

STOP_GRACE_SECONDS = 4.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0


class Lifetime:
    """Turns SIGTERM and SIGINT into a flag, and lets one thread wait for many things.

    The first signal asks for an orderly stop. Work that has not come to an end after
    `STOP_GRACE_SECONDS` (a frozen database, a handler that sleeps) is abandoned by ending the
    process: nothing is acked that is not committed, so everything abandoned comes back, and the
    exit code is 0. With `one_shot` nobody comes back to it but who runs the command again: 1. A
    second signal ends the process at once, with exit code 1.
    """

    def __init__(
        self,
        *,
        catch_signals: bool = True,
        one_shot: bool = False,
        last_words: Callable[[], None] | None = None,
    ) -> None:
        """`last_words` are attempted, in another thread, before work is abandoned."""
        self.stopping = False
        self._catch_signals = catch_signals
        self._previous_handlers: dict[int, object] = {}
        self._previous_wakeup = -1
        self._bell = Pipe()
        self._waiting = False
        self._watchdog = Watchdog(
            self.stop,
            grace_seconds=STOP_GRACE_SECONDS - 0.5,
            abandoned_code=FAILED if one_shot else DONE,
            abandoned_said="it is not done" if one_shot else "it will be repeated",
            last_words=last_words,
        )

    def __enter__(self) -> Self:
        if self._catch_signals:
            self._previous_wakeup = signal.set_wakeup_fd(
                self._watchdog.signal_fileno, warn_on_full_buffer=False
            )
            for number in STOP_SIGNALS:
                self._previous_handlers[number] = signal.signal(number, self._on_signal)
        self._watchdog.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() gave us
        if self._catch_signals:
            signal.set_wakeup_fd(self._previous_wakeup)
        self._watchdog.end()

    def stop(self) -> None:
        """Ask for an orderly stop, as SIGTERM does. Safe from any thread and signal handler."""
        self.stopping = True
        self._bell.ring()

    def wake(self) -> None:
        """End the current `wait_until`, if there is one, so that it looks again."""
        if self._waiting:
            self._bell.ring()

    def wait_until(
        self, ready: Callable[[], object], seconds: float | None, *, fileno: int | None = None
    ) -> bool:
        """Wait until `ready()` is true; False when stopping or out of time.

        `ready` is looked at again after each `wake()` and each time `fileno` is readable; then
        `ready` itself has to take the readable input, or the wait becomes a busy one.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._bell.read_end, select.POLLIN)
        if fileno is not None:
            poll.register(fileno, select.POLLIN)
        while not self.stopping:
            # The flag is up before the look, so a wake-up between look and poll is not lost.
            self._waiting = True
            try:
                if ready():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                poll.poll(None if left is None else max(1, int(left * 1000)))
            finally:
                self._waiting = False
            self._bell.take()
        return False

    def pause(self, seconds: float) -> None:
        """Sleep, but not past a stop signal."""
        self.wait_until(lambda: False, seconds)

    @contextmanager
    def database_turn(self, fileno: int | None, *, limit_seconds: float) -> Iterator[None]:
        """Bound a piece of database work whose server may have frozen without a word.

        Past the limit the connection's socket is shut down, so that the driver raises and
        the work is judged as an outage. `fileno` is None where there is no socket (SQLite).
        """
        if fileno is not None:
            self._watchdog.bound(fileno, limit_seconds)
        try:
            yield
        finally:
            self._watchdog.release()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        # The watchdog has heard it too; this only spares the main thread a moment.
        self.stop()


class Backoff:
    """Pauses that double from 1 s to 30 s with full jitter, until a success resets them."""

    def __init__(self) -> None:
        self._ceiling_seconds = FIRST_PAUSE_SECONDS

    def next_seconds(self) -> float:
        """The next pause. Source: "Exponential Backoff And Jitter", AWS Architecture Blog."""
        ceiling = self._ceiling_seconds
        self._ceiling_seconds = min(LONGEST_PAUSE_SECONDS, ceiling * 2)
        # Full jitter would allow a pause of nothing; a floor keeps the pace bounded.
        return random.uniform(min(0.1, ceiling), ceiling)  # not a secret

    def reset(self) -> None:
        """Call after work that succeeded."""
        self._ceiling_seconds = FIRST_PAUSE_SECONDS
