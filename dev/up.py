"""`make up`: broker, database, accounts, then every process, until Ctrl-C.

What it starts it ends: on Ctrl-C, SIGTERM or SIGHUP in good order (exit 0), when one of its
processes or its own broker dies (exit 1), and by the guardian when it is killed itself.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from honcho.environ import parse_procfile

from catalogsite.environment import Environment, SettingError
from dev import broker_choice, dotenv, guardian, processes
from dev.broker_choice import Chosen, NoBroker
from dev.docker_broker import ComposeFailed
from dev.free_ports import next_free_port
from dev.rabbitmq import NodeFailed
from dev.supervisor import Supervisor
from dev.terminal import ensure_streams, own_foreground

PROJECT = Path(__file__).resolve().parent.parent
DEFAULT_AMQP_URL = "amqp://guest:guest@127.0.0.1:5672/%2F"
FIRST_WEB_PORT = 8000
DONE, FAILED, WRONG_USE, CONFIGURATION = 0, 1, 2, 3


class Stopped(BaseException):
    """Ctrl-C or SIGTERM came during set-up."""


class SetUpFailed(Exception):
    """A step failed; the text, or the lines above it, say why."""


class WrongSetting(Exception):
    """A child has already said which setting is wrong."""


def main() -> int:
    ensure_streams()
    os.chdir(PROJECT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with own_foreground(), _alone(PROJECT / "var" / "up") as folder:
            return _run_everything(folder)
    except Stopped:
        return DONE
    except WrongSetting:
        return WRONG_USE
    except SettingError as error:
        print(error, file=sys.stderr)
        return WRONG_USE
    except NoBroker as error:
        print(error, file=sys.stderr)
        return CONFIGURATION
    except (SetUpFailed, NodeFailed, ComposeFailed) as error:
        print(error, file=sys.stderr)
        return FAILED


def _run_everything(folder: Path) -> int:
    given = dotenv.given_settings(os.environ, dotenv=PROJECT / ".env")
    _check_settings(given)
    guard = guardian.watch_over(folder, keep=True)
    broker: Chosen | None = None
    supervisor: Supervisor | None = None
    preparing: subprocess.Popen[bytes] | None = None
    try:
        preparing = _begin_to_prepare(given, folder=folder)
        broker = _start_broker(given, folder=folder)
        accounts = _accounts_of(preparing)
        environment = _environment(given, broker=broker)
        dotenv.keep(PROJECT / ".env", _own_settings(given, broker=broker))
        port = next_free_port(FIRST_WEB_PORT)
        supervisor = Supervisor(folder, environment=environment | {"PORT": str(port)})
        for name, command in parse_procfile(_procfile()).processes.items():
            supervisor.add(name, command)
        site = f"http://127.0.0.1:{port}"
        lines = folder / "welcome.txt"
        lines.write_text(_addresses(site, broker=broker, accounts=accounts), encoding="utf-8")
        welcome = f"exec {quote(sys.executable)} -m dev.welcome {site} {quote(str(lines))}"
        supervisor.add_task("welcome", welcome)
        return supervisor.run(is_sound=lambda: _fault_of(broker))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if preparing is not None and preparing.poll() is None:
            preparing.kill()
        if supervisor is not None:
            supervisor.end()
        if broker is not None and broker.own is not None:
            broker.own.stop()
        guard.release()
        print("Stopped.", flush=True)


def _check_settings(given: Environment) -> None:
    """Before anything is installed or started for them. Raises WrongSetting."""
    check = "from catalogsite.start import read_settings; read_settings(serves_pages=True)"
    done = subprocess.run(
        [sys.executable, "-c", check],
        env=_environment(given, broker=None),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise WrongSetting


def _begin_to_prepare(given: Environment, *, folder: Path) -> "subprocess.Popen[bytes]":
    """The database needs no broker: it is made ready while one boots."""
    child = subprocess.Popen(
        [sys.executable, "-m", "dev.prepare", str(PROJECT / "var" / "accounts.json")],
        env=_environment(given, broker=None),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    processes.note(folder / "prepare.process.json", child.pid)
    return child


def _accounts_of(preparing: "subprocess.Popen[bytes]") -> list[dict[str, str | None]]:
    output, _ = preparing.communicate()
    if preparing.returncode:
        raise SetUpFailed("The database could not be made ready; the lines above say why.")
    accounts: list[dict[str, str | None]] = json.loads(output.splitlines()[-1])
    return accounts


def _start_broker(given: Environment, *, folder: Path) -> Chosen:
    print("Looking for a broker ...", flush=True)
    url = given.text("AMQP_URL", default=DEFAULT_AMQP_URL)
    ways = broker_choice.real_ways(folder / "broker")
    chosen = broker_choice.choose(url, given=given.is_set("AMQP_URL"), ways=ways)
    print(f"Broker: {chosen.why}", flush=True)
    return chosen


def _environment(given: Environment, *, broker: Chosen | None) -> dict[str, str]:
    """Ours where nobody has set it; everything else comes from `.env` as ever."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", **_own_settings(given, broker=broker)}


def _own_settings(given: Environment, *, broker: Chosen | None) -> dict[str, str]:
    ours = {} if given.is_set("DEBUG") else {"DEBUG": "true"}
    if broker is not None and broker.own is not None:
        ours["AMQP_URL"] = broker.amqp_url
    return ours


def _procfile() -> str:
    return (PROJECT / "Procfile").read_text(encoding="utf-8")


def _addresses(site: str, *, broker: Chosen, accounts: list[dict[str, str | None]]) -> str:
    lines = [
        "",
        f"  catalog     {site}/",
        f"  JSON        {site}/api/materials/",
        f"  editor      {site}/editor/",
        f"  admin       {site}/admin/",
        f"  broker      {broker.why}",
    ]
    if broker.own is not None:
        lines.append(f"              {broker.amqp_url}")
    for account in accounts:
        password = account["password"] or "(made before: its password is not known here)"
        lines.append(f"  sign in as  {account['name']:<10} {password}")
    if not accounts:
        lines.append("  DEBUG is off: no development accounts were made.")
    return "\n".join([*lines, "", "  Ctrl-C stops everything.", ""])


def _fault_of(broker: Chosen | None) -> str | None:
    if broker is not None and broker.own is not None and not broker.own.is_running():
        return "The private broker node has ended"
    return None


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """One `make up` a checkout: the second says who is first, and does nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    # Passwords stand in here.
    folder.chmod(0o700)
    with open(folder / "lock", "a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise SetUpFailed(
                f"`make up` already runs in this checkout (process {lock.read().strip()})."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        guardian.end_everything(folder)
        yield folder


def _stop(number: int, frame: object) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
