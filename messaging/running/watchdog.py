"""The last resort of a long-running command: a thread that ends what does not end by itself.

Signals reach it from Python's C handler, through a pipe. The handlers written in Python run in
the main thread alone, and not before a call into SQLite or libpq has returned.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from messaging.running.exit_codes import FAILED

log = structlog.get_logger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_LOOK_MILLISECONDS = 250
_SAY_SECONDS = 0.2
_LAST_WORDS_SECONDS = 0.6


class Pipe:
    """A pipe that is never waited for: rung from anywhere, also from a signal handler."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        os.set_blocking(self.write_end, False)

    def ring(self) -> None:
        with suppress(BlockingIOError):  # It is full of rings already.
            os.write(self.write_end, b"\0")

    def take(self) -> bytes:
        """Everything that was written since the last look."""
        taken = b""
        with suppress(BlockingIOError):
            while part := os.read(self.read_end, 4096):
                taken += part
        return taken

    def __del__(self) -> None:
        # Not before: whoever still holds the pipe may ring, and the number may be another's then.
        os.close(self.read_end)
        os.close(self.write_end)


class Watchdog:
    """Ends the process when a stop takes too long or is asked for twice; breaks hangs.

    Nothing of what is abandoned so is acked or marked that is not committed.
    """

    def __init__(
        self,
        on_stop: Callable[[], None],
        *,
        grace_seconds: float,
        abandoned_code: int,
        abandoned_said: str,
        last_words: Callable[[], None] | None = None,
    ) -> None:
        """`last_words` may use the database, and are given up where it does not answer soon."""
        self._on_stop = on_stop
        self._grace_seconds = grace_seconds
        self._abandoned_code = abandoned_code
        self._abandoned_said = abandoned_said
        self._last_words = last_words
        self._signals = Pipe()
        self._over = False
        self._lock = threading.Lock()
        self._hang: tuple[int, float] | None = None
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Returns when it watches no longer."""
        self._over = True
        self._signals.ring()
        self._thread.join()

    @property
    def signal_fileno(self) -> int:
        """For `signal.set_wakeup_fd`."""
        return self._signals.write_end

    def bound(self, fileno: int, seconds: float) -> None:
        """Shut that socket down unless `release` is called within the time."""
        with self._lock:
            self._hang = fileno, time.monotonic() + seconds

    def release(self) -> None:
        with self._lock:
            self._hang = None

    def _watch(self) -> None:
        deadline: float | None = None
        poll = select.poll()
        poll.register(self._signals.read_end, select.POLLIN)
        while not self._over:
            poll.poll(_LOOK_MILLISECONDS)
            for number in self._signals.take():
                if number not in STOP_SIGNALS:
                    continue
                if deadline is not None:
                    os._exit(FAILED)
                deadline = time.monotonic() + self._grace_seconds
                self._on_stop()
            self._break_hang()
            if deadline is not None and time.monotonic() > deadline:
                if self._last_words:
                    _attempt(self._last_words, seconds=_LAST_WORDS_SECONDS)
                _say(f"work abandoned at the end of the grace period; {self._abandoned_said}")
                os._exit(self._abandoned_code)

    def _break_hang(self) -> None:
        with self._lock:
            if self._hang is None or time.monotonic() < self._hang[1]:
                return
            fileno, self._hang = self._hang[0], None
            # It may have been closed in the same moment.
            with suppress(OSError), socket.socket(fileno=os.dup(fileno)) as twin:
                twin.shutdown(socket.SHUT_RDWR)
        _say("the database does not answer; its connection is shut down")


def _say(what: str) -> None:
    """Log it, but do not wait for a reader of standard error who has stopped reading."""
    _attempt(lambda: log.error(what), seconds=_SAY_SECONDS)


def _attempt(act: Callable[[], object], *, seconds: float) -> None:
    """Whatever becomes of it, no longer than that is waited for it."""

    def attempted() -> None:
        with suppress(Exception):
            act()

    speaker = threading.Thread(target=attempted, name="watchdog says", daemon=True)
    speaker.start()
    speaker.join(seconds)
