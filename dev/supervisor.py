"""Runs the processes of the Procfile side by side, their lines marked with their name.

The first that ends ends all: in development a dead relay shall be seen, not papered over.
"""

import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from honcho.colour import get_colours
from honcho.printer import Message, Printer

from dev import processes

# Each command promises to end within 5 s of SIGTERM.
END_SECONDS = 8
LOOK_SECONDS = 1.0
LAST_WORDS_SECONDS = 0.3


class Supervisor:
    """Starts, prints, waits, ends. Notes each process in `folder` for the guardian."""

    def __init__(self, folder: Path, *, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._readers: list[threading.Thread] = []
        self._lasting: set[str] = set()
        self._lines: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._colours = get_colours()
        self._printer = Printer(sys.stdout)
        self._plain = Printer(sys.stdout, prefix=False)
        self._asked_to_stop = False

    def add(self, name: str, command: str) -> None:
        """Start a process that shall run as long as we do."""
        self._printer.width = max(self._printer.width, len(name))
        self._lasting.add(name)
        self._start(name, command, colour=next(self._colours))

    def add_task(self, name: str, command: str) -> None:
        """Start a process that ends by itself; its lines are printed without a mark."""
        self._start(name, command, colour=None)

    def run(self, *, is_sound: Callable[[], str | None] = lambda: None) -> int:
        """Print what they say until one ends (1) or SIGINT, SIGTERM or SIGHUP comes (0).

        `is_sound` is asked every second and may name a reason to end all.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        looked = time.monotonic()
        while not self._asked_to_stop:
            self._print_lines(seconds=0.1)
            reason = self._dead_child()
            if reason is None and time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                reason = is_sound()
            if reason is not None:
                self._print_lines(seconds=LAST_WORDS_SECONDS)
                print(f"{reason}: stopping everything.", flush=True)
                return 1
        return 0

    def end(self) -> None:
        """SIGTERM to all, SIGKILL to those that still run after a while. Prints the last lines."""
        running = [child for child in self._children.values() if child.poll() is None]
        for child in running:
            processes.send_to_group(child.pid, signal.SIGTERM)
        until = time.monotonic() + END_SECONDS
        while any(child.poll() is None for child in running) and time.monotonic() < until:
            self._print_lines(seconds=0.05)
        for name, child in self._children.items():
            # The group may outlive its leader.
            processes.send_to_group(child.pid, signal.SIGKILL)
            child.wait()
            self._note(name).unlink(missing_ok=True)
        for reader in self._readers:
            reader.join(LAST_WORDS_SECONDS)
        while not self._lines.empty():
            self._print(self._lines.get())

    def _ask_to_stop(self, number: int, frame: object) -> None:
        """Only a flag: what a handler prints can collide with what it interrupted."""
        self._asked_to_stop = True

    def _dead_child(self) -> str | None:
        for name, child in self._children.items():
            code = child.poll()
            if code is not None and name in self._lasting:
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit {code}"
                return f"{name} {how}"
        return None

    def _start(self, name: str, command: str, *, colour: str | None) -> None:
        child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._children[name] = child
        processes.note(self._note(name), child.pid)
        reader = threading.Thread(target=self._read, args=(name, child, colour), daemon=True)
        self._readers.append(reader)
        reader.start()

    def _note(self, name: str) -> Path:
        return self._folder / f"{name}.process.json"

    def _read(self, name: str, child: "subprocess.Popen[bytes]", colour: str | None) -> None:
        assert child.stdout is not None
        for line in child.stdout:
            self._lines.put(Message("line", line, datetime.now(), name, colour))

    def _print_lines(self, *, seconds: float) -> None:
        """Print what comes within that time, however much they say, and return after it."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                self._print(self._lines.get(timeout=left))
            except queue.Empty:
                return

    def _print(self, message: Message) -> None:
        printer = self._printer if message.name in self._lasting else self._plain
        printer.write(message)
