"""One real command of the project, running as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dev import processes
from tests.environment import PROJECT, run_folder
from tests.eventually import PATIENCE_SECONDS
from tests.processes import warm_start

PAUSE_SECONDS = 0.02


class Command:
    """A started `manage.py` command. What it writes goes to files, so it never blocks.

    It is a fork of a Python that has loaded the libraries (`warm_start`), where that is the same.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path = PROJECT,
        stdin: str = "",
    ) -> None:
        self.command = list(command)
        self._files = run_folder() / "commands" / uuid.uuid4().hex[:12]
        self._files.mkdir(parents=True)
        (self._files / "stdin").write_text(stdin, encoding="utf-8")
        with (
            open(self._files / "stdin", "rb") as standard_input,
            self._open("stdout") as stdout,
            self._open("stderr") as stderr,
        ):
            self._process = warm_start.start(
                self.command,
                environment=environment,
                folder=folder,
                standard=(standard_input, stdout, stderr),
            )
        processes.note(self._files / "command.process.json", self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; minus the signal's number when one ended it."""
        return self._process.poll()

    @property
    def stdout(self) -> str:
        """Everything it has written to standard output so far."""
        return self._read("stdout")

    @property
    def stderr(self) -> str:
        """Everything it has written to standard error (its log) so far."""
        return self._read("stderr")

    @property
    def log(self) -> list[dict[str, Any]]:
        """The log records (LOG_FORMAT=json); a line that is no JSON object is left out."""
        records = []
        for line in self.stderr.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records

    def wait_for(self, text: str, seconds: float = PATIENCE_SECONDS) -> str:
        """Returns the first line of its output that holds the text. Fails when it ends first."""
        until = time.monotonic() + seconds
        while True:
            ended = self.returncode is not None
            for line in (self.stdout + self.stderr).splitlines():
                if text in line:
                    return line
            if ended:
                raise AssertionError(
                    f"it ended ({self.returncode}) without {text!r}\n{self.report()}"
                )
            if time.monotonic() > until:
                raise AssertionError(f"no {text!r} within {seconds} s\n{self.report()}")
            time.sleep(PAUSE_SECONDS)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """The exit code, once it ended by itself. Fails when it still runs after the time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s\n{self.report()}") from None

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def terminate(self, *, within_seconds: float = 5) -> int:
        """SIGTERM; the exit code. Fails when it takes longer than the contract allows."""
        if self.returncode is None:
            self.send(signal.SIGTERM)
        return self.wait(within_seconds)

    def kill(self) -> None:
        """SIGKILL; returns once it is gone."""
        if self.returncode is None:
            self.send(signal.SIGKILL)
        self._process.wait(10)

    def pause(self) -> None:
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def report(self) -> str:
        """What it is and what it said last, for the message of a failed test."""
        parts = [f"$ {' '.join(self.command)}  (exit {self.returncode})"]
        for name in ("stdout", "stderr"):
            lines = self._read(name).splitlines()[-30:]
            parts += [f"--- {name}", *lines] if lines else []
        return "\n".join(parts)

    def _open(self, name: str) -> Any:
        return open(self._files / name, "wb")

    def _read(self, name: str) -> str:
        path: Path = self._files / name
        return path.read_text(encoding="utf-8", errors="replace")


def run_to_end(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path = PROJECT,
    stdin: str = "",
    timeout_seconds: float = PATIENCE_SECONDS,
) -> "subprocess.CompletedProcess[str]":
    """Like `subprocess.run` with its output captured as text; the exit code is not judged."""
    started = Command(command, environment=environment, folder=folder, stdin=stdin)
    try:
        code = started.wait(timeout_seconds)
    finally:
        started.kill()
    return subprocess.CompletedProcess(started.command, code, started.stdout, started.stderr)


def manage(*arguments: str) -> list[str]:
    """The command line of one `manage.py` command."""
    return [sys.executable, "manage.py", *arguments]
