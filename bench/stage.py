"""Where a benchmark plays: a broker, a PostgreSQL server and files of its own, gone at its end.

All of it lies below one folder, and whatever is started is noted there: a guardian process ends
it and removes the folder however the benchmark ends, by Ctrl-C and SIGKILL too.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import IO, Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg

from dev import guardian, processes
from dev.postgres import PostgresCluster
from dev.rabbitmq import RabbitNode

PROJECT = Path(__file__).resolve().parent.parent

Kind = Literal["PostgreSQL", "SQLite"]
KINDS: tuple[Kind, ...] = ("PostgreSQL", "SQLite")


class Stage:
    """Broker and PostgreSQL start when they are first asked for."""

    def __init__(self, folder: Path, *, broker_url: str | None) -> None:
        self.folder = folder
        self._broker_url = broker_url
        self._templates: dict[Kind, str] = {}

    @cached_property
    def amqp_url(self) -> str:
        """Of a node of its own, unless another was given."""
        if self._broker_url:
            return self._broker_url
        say("starting a broker")
        node = RabbitNode(self.folder / "broker")
        node.start()
        return node.amqp_url

    @cached_property
    def postgres(self) -> PostgresCluster:
        """With the durability and the settings of a fresh installation."""
        say("starting a PostgreSQL server")
        cluster = PostgresCluster(self.folder / "postgres", durable=True)
        cluster.start()
        return cluster

    @contextmanager
    def database(self, kind: Kind) -> Iterator[str]:
        """The URL of a new, migrated database; it is dropped at the end of the block."""
        template = self._template(kind)
        name = f"d{uuid.uuid4().hex[:12]}"
        if kind == "SQLite":
            shutil.copyfile(template.removeprefix("sqlite:///"), self.folder / name)
            yield f"sqlite:///{self.folder / name}"
            for suffix in ("", "-wal", "-shm"):
                (self.folder / f"{name}{suffix}").unlink(missing_ok=True)
        else:
            self._execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
            yield _with_database(template, name)
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def environment(self, database_url: str, **settings: str) -> dict[str, str]:
        """The environment of a command; a namespace of its own unless DELIVERY_NAMESPACE is given.

        Everything else is as it is shipped: nothing of the caller's settings leaks in.
        """
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {
            **inherited,
            "DATABASE_URL": database_url,
            "AMQP_URL": self.amqp_url,
            "DELIVERY_NAMESPACE": f"bench-{uuid.uuid4().hex[:8]}",
            "SECRET_KEY": "for a measurement alone, as long as Django wants a key to be",
            "DJANGO_SETTINGS_MODULE": "catalogsite.settings",
            "PYTHONPATH": str(PROJECT),
            **settings,
        }

    def manage(self, environment: dict[str, str], *command: str) -> str:
        """Run a command of the project to its end; what it printed. Raises when it fails."""
        done = subprocess.run(
            [sys.executable, str(PROJECT / "manage.py"), *command],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(
        self,
        command: list[str],
        environment: dict[str, str],
        *,
        name: str,
        cwd: Path = PROJECT,
        piped: bool = False,
    ) -> "subprocess.Popen[str]":
        """Start a process; what it logs goes to a file. With `piped` it is talked to."""
        log = self.log_of(name)
        with open(log, "ab") as out:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else out,
                stderr=out,
                text=True,
                start_new_session=True,
            )
        processes.note(self.folder / f"{uuid.uuid4().hex}{guardian.NOTES[1:]}", process.pid)
        return process

    def log_of(self, name: str) -> Path:
        """Where the process of that name logs."""
        return self.folder / f"{name.replace(' ', '-').replace('/', '-')}.log"

    def _template(self, kind: Kind) -> str:
        if kind not in self._templates:
            say(f"migrating a database on {kind}")
            if kind == "SQLite":
                url = f"sqlite:///{self.folder / _TEMPLATE}"
            else:
                url = _with_database(self.postgres.url(), _TEMPLATE)
                self._execute(f"CREATE DATABASE {_TEMPLATE}")
            self.manage(self.environment(url), "migrate", "--verbosity=0")
            self._templates[kind] = url
        return self._templates[kind]

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.postgres.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def stage(*, broker_url: str | None = None) -> Iterator[Stage]:
    """A stage; when the block is left, by an error or a signal too, nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="catalogsite-bench-"))
    folder.chmod(0o711)  # the PostgreSQL server has a user of its own and must get through
    guard = guardian.watch_over(folder)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, _stop)
    try:
        yield Stage(folder, broker_url=broker_url)
    finally:
        guard.release()


def say(text: str, *, stream: IO[str] | None = None) -> None:
    """Progress, to standard error."""
    print(text, file=stream or sys.stderr, flush=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


_TEMPLATE = "template_bench"
_INHERITED = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "USER")
