"""Starts Python commands as forks of one warm process (`tests.processes.forking`), one a worker.

A process started here is one like any other: it has its own session and number, dies by signals,
and reads its settings for itself. A third of the work of a start is left.
"""

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.environment import PROJECT
from tests.processes.forking import LENGTH_BYTES

_lock = threading.Lock()
_server: "tuple[subprocess.Popen[bytes], socket.socket] | None" = None


class Started:
    """What `subprocess.Popen` is, as far as it is used here."""

    def __init__(self, pid: int, told: IO[bytes]) -> None:
        self.pid = pid
        self._told = told
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, minus a signal's number when one ended it; None while it runs."""
        return self._look(0)

    def wait(self, seconds: float | None = None) -> int:
        """The exit code. Raises `subprocess.TimeoutExpired` like its namesake."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            code = self._look(None if until is None else max(0, until - time.monotonic()))
            if code is not None:
                return code
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(str(self.pid), seconds or 0)

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def _look(self, seconds: float | None) -> int | None:
        with self._lock:
            if self._code is None and _readable(self._told, seconds):
                line = self._told.readline()
                self._told.close()
                if not line:
                    raise AssertionError("the process that forks commands is gone")
                self._code = int(line)
            return self._code


def start(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    standard: tuple[IO[bytes], IO[bytes], IO[bytes]],
) -> "subprocess.Popen[bytes] | Started":
    """Start it in a session of its own, on these files for its input, output and error.

    By a fork where that makes no difference, else from nothing.
    """
    if _is_same_by_fork(command, environment, folder):
        return _fork(command[1:], environment, [file.fileno() for file in standard])
    standard_input, output, error = standard
    return subprocess.Popen(
        list(command),
        cwd=folder,
        env=dict(environment),
        stdin=standard_input,
        stdout=output,
        stderr=error,
        start_new_session=True,
    )


def _is_same_by_fork(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> bool:
    """Whether it is our Python in our folder, and nothing else is said to Python itself."""
    own = {name: value for name, value in os.environ.items() if _concerns_python(name)}
    given = {name: value for name, value in environment.items() if _concerns_python(name)}
    program = command[1] == "-m" or command[1].endswith(".py")
    return _is_our_python(command[0]) and program and folder == PROJECT and own == given


def _is_our_python(path: str) -> bool:
    """By any of the names that an environment gives it."""
    theirs, ours = Path(path), Path(sys.executable)
    return theirs.parent == ours.parent and theirs.resolve() == ours.resolve()


def _concerns_python(name: str) -> bool:
    return name.startswith(("PYTHON", "LC_")) or name in {"LANG", "LANGUAGE", "PATH", "HOME"}


def _fork(
    command: Sequence[str], environment: Mapping[str, str], standard: Sequence[int]
) -> Started:
    said = json.dumps(
        {"command": list(command), "environment": dict(environment), "folder": str(PROJECT)}
    ).encode()
    told, teller = os.pipe()
    with _lock:
        asking = _running_server()
        try:
            length = len(said).to_bytes(LENGTH_BYTES, "big")
            socket.send_fds(asking, [length], [*standard, teller])
            asking.sendall(said)
        finally:
            os.close(teller)
    reader = open(told, "rb", buffering=0)  # noqa: SIM115 - Started closes it
    return Started(int(reader.readline()), reader)


def _running_server() -> socket.socket:
    global _server
    if _server is None:
        mine, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.processes.forking", str(theirs.fileno())],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        _server = process, mine
        atexit.register(_end_server)
    return _server[1]


def _end_server() -> None:
    """It ends by itself when nobody can ask it any more."""
    if _server is not None:
        process, asking = _server
        asking.close()
        process.wait(10)


def _readable(told: IO[bytes], seconds: float | None) -> bool:
    with selectors.DefaultSelector() as waiting:
        waiting.register(told, selectors.EVENT_READ)
        return bool(waiting.select(seconds))
