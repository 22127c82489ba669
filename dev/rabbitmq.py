"""A RabbitMQ node of our own, wholly below one folder: `make up` and the tests start it.

Loopback only; its own name, ports, cookie, data and Erlang port mapper (epmd), so that it neither
disturbs nor needs any other broker of this machine, and two checkouts run side by side.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path

from dev import amqp_probe, processes
from dev.free_ports import LOOPBACK, free_port
from dev.processes import Known
from dev.rabbitmq_view import make_view

BOOT_SECONDS = 120
STOP_SECONDS = 20
PORT_SECONDS = 2

_SCRIPT_FOLDERS = (
    "/usr/lib/rabbitmq/bin",
    "/opt/homebrew/opt/rabbitmq/sbin",
    "/usr/local/opt/rabbitmq/sbin",
    "/home/linuxbrew/.linuxbrew/opt/rabbitmq/sbin",
)


class NodeFailed(Exception):
    """The node did not come up; the text ends with what its log said last."""


@dataclass(frozen=True)
class Ports:
    """Where the node listens: AMQP, Erlang distribution, port mapper."""

    amqp: int
    distribution: int
    epmd: int


def find_scripts() -> Path | None:
    """The folder of the plain `rabbitmq-server` script, or None where RabbitMQ is not installed.

    Debian's /usr/sbin/rabbitmq-server is a wrapper that changes the user: it is not taken.
    """
    on_path = shutil.which("rabbitmq-server")
    folders = [Path(folder) for folder in _SCRIPT_FOLDERS]
    if on_path and not on_path.startswith("/usr/sbin/"):
        folders.append(Path(on_path).resolve().parent)
    return next((folder for folder in folders if (folder / "rabbitmq-server").exists()), None)


class RabbitNode:
    """One node. The folder may be new, of an earlier run, or left behind by a crash."""

    def __init__(
        self, folder: Path, *, preferred_port: int | None = None, schedulers: int | None = None
    ) -> None:
        """`schedulers`: how many cores it may keep busy; one boots with the least CPU."""
        self.folder = folder.resolve()
        self.preferred_port = preferred_port
        self.schedulers = schedulers
        self._scripts = find_scripts()
        self._sees_all = False

    @property
    def amqp_port(self) -> int:
        return self._ports().amqp

    @property
    def amqp_url(self) -> str:
        return f"amqp://guest:guest@{LOOPBACK}:{self.amqp_port}/%2F"

    def start(self) -> None:
        """Returns when the node answers AMQP. Raises NodeFailed, and then nothing is left running.

        A node that a crashed run left behind in this folder is ended first.
        """
        try:
            self._start()
        except NodeFailed:
            if self._sees_all or self._scripts is None:
                raise
            # An installation that needs more than the view shows.
            self._sees_all = True
            self._start()

    def stop(self) -> None:
        """Orderly: queues are flushed, connections closed. Returns when nothing of it runs."""
        beam = self._known("beam")
        if beam is not None:
            processes.send_to_all([beam.pid], signal.SIGCONT)
            processes.end(beam, within_seconds=STOP_SECONDS, group=True)
        self.kill()

    def kill(self) -> None:
        """As a power cut: SIGKILL, no clean-up. Returns when nothing of it runs."""
        for name in ("beam", "epmd"):
            known = self._known(name)
            if known is not None:
                processes.kill(known, group=True)
            self._note(name).unlink(missing_ok=True)

    def pause(self) -> None:
        """The node stops in its tracks; its sockets stay open."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def is_running(self) -> bool:
        return self._known("beam") is not None

    def ctl(self, *arguments: str, timeout_seconds: float = 60) -> str:
        """What `rabbitmqctl` prints. Raises CalledProcessError with its output."""
        return self._run_script("rabbitmqctl", arguments, timeout_seconds=timeout_seconds)

    def diagnostics(self, *arguments: str, timeout_seconds: float = 60) -> str:
        """What `rabbitmq-diagnostics` prints, for example of `check_running`."""
        return self._run_script("rabbitmq-diagnostics", arguments, timeout_seconds=timeout_seconds)

    def log_tail(self, *, lines: int = 25) -> str:
        """The last lines of what the node wrote."""
        texts = []
        for path in [*sorted((self.folder / "log").glob("*.log")), self.folder / "beam.out"]:
            with suppress(OSError):
                texts += path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return "\n".join(texts[-2 * lines :])

    def _start(self) -> None:
        if self._scripts is None:
            raise NodeFailed("rabbitmq-server is not installed")
        self.kill()
        self._prepare()
        try:
            self._spawn("epmd", _epmd_command(self._scripts, port=self._ports().epmd))
            self._await_epmd()
            self._spawn("beam", [str(self._scripts / "rabbitmq-server")])
            self._await_amqp()
        except BaseException:
            self.kill()
            raise

    def _run_script(self, name: str, arguments: tuple[str, ...], *, timeout_seconds: float) -> str:
        assert self._scripts is not None
        done = subprocess.run(
            [str(self._scripts / name), "--quiet", *arguments],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        if done.returncode:
            raise subprocess.CalledProcessError(
                done.returncode, [name, *arguments], done.stdout, done.stderr
            )
        return done.stdout

    def _prepare(self) -> None:
        for below in ("home", "log", "mnesia"):
            (self.folder / below).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        cookie = self.folder / "home" / ".erlang.cookie"
        if not cookie.exists():
            cookie.write_text(secrets.token_hex(16), encoding="ascii")
            cookie.chmod(0o400)
        name = self.folder / "nodename"
        if not name.exists():
            name.write_text(f"delivery-{secrets.token_hex(4)}@localhost", encoding="ascii")
        (self.folder / "enabled_plugins").write_text("[].\n", encoding="ascii")
        (self.folder / "rabbitmq.conf").write_text(
            "log.console.level = warning\nlog.file.level = info\n", encoding="ascii"
        )
        shutil.rmtree(self._view, ignore_errors=True)
        if self._scripts is not None and not self._sees_all:
            make_view(self._scripts, self._view)
        self._choose_ports()

    def _choose_ports(self) -> None:
        """The ports of the last run where they are still free: addresses stay as printed."""
        earlier: Ports | None = None
        with suppress(OSError, ValueError, TypeError):
            earlier = self._ports()
        ports = Ports(
            amqp=_port(earlier.amqp if earlier else self.preferred_port),
            distribution=_port(earlier.distribution if earlier else None),
            epmd=_port(earlier.epmd if earlier else None),
        )
        (self.folder / "ports.json").write_text(json.dumps(asdict(ports)), encoding="ascii")

    def _ports(self) -> Ports:
        return Ports(**json.loads((self.folder / "ports.json").read_text(encoding="ascii")))

    def _environment(self) -> dict[str, str]:
        """Nothing of the caller's RabbitMQ or Erlang settings leaks in."""
        ports = self._ports()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RABBITMQ_", "ERL_", "NOTIFY_SOCKET"))
        }
        inherited.setdefault("PATH", os.defpath)
        if (self._view / "sbin").exists():
            inherited["RABBITMQ_SCRIPTS_DIR"] = str(self._view / "sbin")
        schedulers = f" +S {self.schedulers}:{self.schedulers}" if self.schedulers else ""
        return inherited | {
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "ERL_EPMD_PORT": str(ports.epmd),
            "RABBITMQ_NODENAME": (self.folder / "nodename").read_text(encoding="ascii"),
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": str(ports.amqp),
            "RABBITMQ_DIST_PORT": str(ports.distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}"
            + schedulers,
            # The script then becomes the virtual machine instead of waiting for it: one process,
            # its number is the one we know, and SIGTERM is an orderly stop.
            "RUNNING_UNDER_SYSTEMD": "true",
        }

    def _spawn(self, name: str, command: list[str]) -> None:
        with open(self.folder / f"{name}.out", "wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # Collected by `processes`, perhaps in another run: Popen must not warn about it.
        process.returncode = 0
        processes.note(self._note(name), process.pid)

    def _await_epmd(self) -> None:
        for _ in _until(10, what="epmd", log=self.log_tail):
            with suppress(OSError):
                socket.create_connection((LOOPBACK, self._ports().epmd), timeout=1).close()
                return

    def _await_amqp(self) -> None:
        for _ in _until(BOOT_SECONDS, what="rabbitmq-server", log=self.log_tail):
            if not self.is_running():
                raise NodeFailed(f"rabbitmq-server ended at start:\n{self.log_tail()}")
            if amqp_probe.speaks_amqp(LOOPBACK, self.amqp_port):
                return

    @property
    def _view(self) -> Path:
        return self.folder / "view"

    def _note(self, name: str) -> Path:
        return self.folder / f"{name}.process.json"

    def _known(self, name: str) -> Known | None:
        return processes.noted(self._note(name))

    def _signal(self, number: signal.Signals) -> None:
        beam = self._known("beam")
        if beam is None:
            raise NodeFailed("the node does not run")
        os.kill(beam.pid, number)


def _port(preferred: int | None) -> int:
    return free_port(preferred=preferred, patience_seconds=PORT_SECONDS)


def _epmd_command(scripts: Path, *, port: int) -> list[str]:
    """In the foreground, so that it ends with us and not with the machine."""
    return [_find_epmd(scripts), "-address", LOOPBACK, "-port", str(port)]


def _find_epmd(scripts: Path) -> str:
    on_path = shutil.which("epmd")
    if on_path:
        return on_path
    erl = shutil.which("erl") or str(scripts / "erl")
    root = Path(erl).resolve().parent.parent
    for found in glob(str(root / "**" / "epmd"), recursive=True):
        return found
    raise NodeFailed("epmd, a part of Erlang, is not on the PATH")


def _until(seconds: float, *, what: str, log: Callable[[], str]) -> Iterator[None]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield
        time.sleep(0.05)
    raise NodeFailed(f"{what} was not ready after {seconds:.0f} s:\n{log()}")
