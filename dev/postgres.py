"""A PostgreSQL cluster of our own below one folder, for the tests.

Loopback only, on a free port, with a password. The server refuses to run as root: as root it
runs as the `postgres` user that the package made, so the folder must be one that user can reach.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dev import processes
from dev.free_ports import LOOPBACK, free_port
from dev.processes import Known

START_SECONDS = 60
STOP_SECONDS = 20
PORT_SECONDS = 2
USER = "catalogsite"

_BIN_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/usr/pgsql-*/bin",
)

# Tests wait for many commits. What is committed still survives a SIGKILL of the server, which
# asynchronous commits would not: only a power cut could lose it.
_FAST = ("fsync=off", "full_page_writes=off")


class ClusterFailed(Exception):
    """The cluster did not come up; the text ends with what its log said last."""


def find_binaries() -> Path | None:
    """The folder of `initdb` and `postgres` of the newest version, or None where there is none."""
    folders = [Path(found) for pattern in _BIN_FOLDERS for found in glob(pattern)]
    on_path = shutil.which("initdb")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    usable = [folder for folder in folders if (folder / "initdb").exists()]
    return max(usable, key=_major_version, default=None)


class PostgresCluster:
    """One cluster. The folder may be new, of an earlier run, or left behind by a crash."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder.resolve()
        self.durable = durable
        self._bin = find_binaries()

    @property
    def port(self) -> int:
        port: int = json.loads((self.folder / "port.json").read_text(encoding="ascii"))
        return port

    def url(self, database: str = "postgres") -> str:
        password = quote((self.folder / "password").read_text(encoding="ascii"))
        return f"postgres://{USER}:{password}@{LOOPBACK}:{self.port}/{database}"

    def create(self) -> None:
        """Make the data folder, where there is none yet. Raises ClusterFailed."""
        if (self._data / "PG_VERSION").exists():
            return
        if self._bin is None:
            raise ClusterFailed("PostgreSQL is not installed (no initdb found)")
        self._create()

    def start(self) -> None:
        """Returns when connections are accepted. Raises ClusterFailed, and then nothing runs."""
        self.kill()
        self.create()
        self._choose_port()
        try:
            self._spawn()
            self._await_ready()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """The fast shutdown: clients are disconnected, data is flushed."""
        postmaster = self._known()
        if postmaster is not None:
            self.resume()
            processes.end(postmaster, within_seconds=STOP_SECONDS, by=signal.SIGINT)
        self.kill()

    def kill(self) -> None:
        """As a power cut: SIGKILL to the server and its backends."""
        postmaster = self._known()
        if postmaster is not None:
            family = [processes.know(pid) for pid in self._family(postmaster)]
            for member in family:
                processes.kill(member)
        self._note.unlink(missing_ok=True)

    def restart(self) -> None:
        """Stop and start on the same port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """The server and every backend stop in their tracks; the sockets stay open."""
        postmaster = self._known()
        if postmaster is None:
            raise ClusterFailed("the cluster does not run")
        processes.send_to_all(self._family(postmaster), signal.SIGSTOP)

    def resume(self) -> None:
        postmaster = self._known()
        if postmaster is not None:
            processes.send_to_all(self._family(postmaster), signal.SIGCONT)

    def is_running(self) -> bool:
        return self._known() is not None

    def log_tail(self, *, lines: int = 25) -> str:
        with suppress(OSError):
            text = (self.folder / "postgres.log").read_text(encoding="utf-8", errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _note(self) -> Path:
        return self.folder / "postmaster.process.json"

    def _known(self) -> Known | None:
        return processes.noted(self._note)

    def _family(self, postmaster: Known) -> list[int]:
        return [postmaster.pid, *processes.children(postmaster.pid)]

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        password = self.folder / "password"
        password.write_text(secrets.token_hex(12), encoding="ascii")
        password.chmod(0o600)
        user = _server_user()
        if user:
            for path in (self.folder, password):
                shutil.chown(path, user=user, group=user)
        self._run(
            "initdb",
            f"--pgdata={self._data}",
            f"--username={USER}",
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        )

    def _choose_port(self) -> None:
        """The port of the last start where it is still free, so that clients find it again."""
        earlier: int | None = None
        with suppress(OSError, ValueError):
            earlier = self.port
        port = free_port(preferred=earlier, patience_seconds=PORT_SECONDS)
        (self.folder / "port.json").write_text(json.dumps(port), encoding="ascii")

    def _spawn(self) -> None:
        settings = [
            f"port={self.port}",
            f"listen_addresses={LOOPBACK}",
            "unix_socket_directories=",
            "max_connections=200",
            *(() if self.durable else _FAST),
        ]
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        with open(self.folder / "postgres.log", "ab") as log:
            process = subprocess.Popen(
                [str(self._binary("postgres")), "-D", str(self._data), *_options(settings)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **_as_server_user(),
            )
        # Collected by `processes`, perhaps in another run: Popen must not warn about it.
        process.returncode = 0
        processes.note(self._note, process.pid)

    def _await_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        command = [str(self._binary("pg_isready")), "-q", "-h", LOOPBACK, "-p", str(self.port)]
        while subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
            if not self.is_running():
                raise ClusterFailed(f"PostgreSQL ended at start:\n{self.log_tail()}")
            if time.monotonic() > until:
                raise ClusterFailed(
                    f"PostgreSQL was not ready after {START_SECONDS} s:\n{self.log_tail()}"
                )
            time.sleep(0.05)

    def _run(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binary(name)), *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **_as_server_user(),
        )
        if done.returncode:
            raise ClusterFailed(f"{name} failed:\n{done.stdout}{done.stderr}")

    def _binary(self, name: str) -> Path:
        assert self._bin is not None
        return self._bin / name


def _options(settings: Sequence[str]) -> list[str]:
    return [part for setting in settings for part in ("-c", setting)]


def _server_user() -> str | None:
    return "postgres" if os.geteuid() == 0 else None


def _as_server_user() -> dict[str, Any]:
    user = _server_user()
    return {"user": user, "group": user, "extra_groups": []} if user else {}


def _major_version(folder: Path) -> int:
    done = subprocess.run(
        [str(folder / "postgres"), "--version"], capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+)", done.stdout)
    return int(found[1]) if found else 0
