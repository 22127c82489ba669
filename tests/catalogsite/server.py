"""A started gunicorn of the project."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dev import processes
from dev.free_ports import LOOPBACK
from tests.environment import PROJECT, clean_environment, run_folder
from tests.eventually import eventually
from tests.processes import warm_start

GUNICORN = ("-m", "gunicorn", "catalogsite.wsgi")


class Server:
    """A started gunicorn on a port of its own."""

    def __init__(
        self, process: "subprocess.Popen[bytes] | warm_start.Started", *, port: int, log: Path
    ) -> None:
        self.process = process
        self.port = port
        self._log = log

    @property
    def stderr(self) -> str:
        return self._log.read_text()

    def answers(self) -> bool:
        assert self.process.poll() is None, self.stderr
        with socket.socket() as probe:
            return probe.connect_ex((LOOPBACK, self.port)) == 0

    def request(self, method: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=10)
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        found = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return found


@contextmanager
def serving(
    folder: Path, *, project: Path = PROJECT, program: Sequence[str] = GUNICORN, **variables: str
) -> Iterator[Server]:
    """gunicorn from the project, on an SQLite file of its own unless DATABASE_URL is given."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    settings = {
        "SECRET_KEY": "k" * 50,
        "DATABASE_URL": f"sqlite:///{folder}/pages.sqlite3",
        "LOG_FORMAT": "json",
        "AMQP_URL": "amqp://u:SECRETPW@127.0.0.1:9/",
    }
    with (folder / "log").open("wb") as log, open(os.devnull, "rb") as nothing:
        process = warm_start.start(
            [sys.executable, *program, "--bind", f"{LOOPBACK}:{port}", "--workers", "1"],
            environment=clean_environment() | settings | variables,
            folder=project,
            standard=(nothing, log, log),
        )
    # For the guardian: a run that is cut short ends no fixture.
    processes.note(run_folder() / f"gunicorn-{port}.process.json", process.pid)
    server = Server(process, port=port, log=folder / "log")
    try:
        eventually(server.answers, 60, what="gunicorn listening")
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
