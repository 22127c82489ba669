"""`make up` for real, in a copy of the checkout: what it shows, and that nothing stays behind."""

import json
import re
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from dev import processes
from dev.free_ports import LOOPBACK
from tests.environment import PROJECT, clean_environment
from tests.eventually import eventually
from tests.processes.command import Command
from tests.processes.database import database_of_run, drop_database, empty_database

LEFT_OUT = (".git", ".venv", ".env", "var", "staticfiles", "__pycache__", ".*_cache", ".hypothesis")
BOOT_SECONDS = 120
STOP_SECONDS = 30


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A copy of the project without anything that a run has left, and with an empty HOME."""
    copy = tmp_path / "checkout"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (copy / ".venv").symlink_to(PROJECT / ".venv")
    (tmp_path / "home").mkdir()
    yield copy
    for note in copy.rglob("*.process.json"):
        known = processes.noted(note)
        if known is not None:
            processes.kill(known, group=True)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Nobody listens at AMQP's own port for us, and the database is one of this test's own."""
    run_url = database_of_run()
    url = empty_database(run_url)
    yield clean_environment() | {
        "HOME": str(tmp_path / "home"),
        "DATABASE_URL": url,
        "AMQP_URL": "amqp://guest:guest@127.0.0.1:9/%2F",
    }
    drop_database(url, run_url=run_url)


@pytest.fixture
def occupied_web_port() -> Iterator[None]:
    """Somebody serves on 8000 already, we or another."""
    try:
        server = socket.create_server((LOOPBACK, 8000))
    except OSError:
        yield
        return
    with server:
        yield


@pytest.mark.usefixtures("occupied_web_port")
def test_everything_runs_the_samples_arrive_and_nothing_stays_behind(
    checkout: Path, environment: dict[str, str]
) -> None:
    up = _start(checkout, environment)
    up.wait_for("12 facts delivered", BOOT_SECONDS)
    first = up.stdout
    site = _site(first)
    members = _noted(checkout)

    assert not site.endswith(":8000")
    listed = json.loads(_get(f"{site}/api/materials/"))
    assert listed["count"] == 12
    assert len(members) >= 6
    assert stat.S_IMODE((checkout / "var" / "accounts.json").stat().st_mode) == 0o600
    assert "AMQP_URL=" in (checkout / ".env").read_text()
    second_at_once = subprocess.run(
        ["make", "up"], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert "already runs in this checkout" in second_at_once.stderr
    up.send(signal.SIGINT)
    assert up.wait(STOP_SECONDS) == 0
    assert not [member for member in members if member.is_alive()]

    # The second run finds everything there.
    up = _start(checkout, environment)
    up.wait_for("12 materials are here already", BOOT_SECONDS)
    assert _passwords(up.stdout) == _passwords(first)
    assert len(_passwords(first)) == 2
    members = _noted(checkout)
    up.kill()
    eventually(
        lambda: not [member for member in members if member.is_alive()],
        STOP_SECONDS,
        what="the end of everything after SIGKILL",
    )


@pytest.mark.any_database
def test_a_process_that_dies_ends_everything_with_its_name(
    checkout: Path, environment: dict[str, str]
) -> None:
    procfile = checkout / "Procfile"
    procfile.write_text(re.sub(r"(?m)^relay:.*$", "relay: exit 7", procfile.read_text()))

    up = _start(checkout, environment)

    assert up.wait(BOOT_SECONDS) == 1
    assert "relay ended with exit 7: stopping everything." in up.stdout
    assert _noted(checkout) == []


@pytest.mark.any_database
def test_a_wrong_setting_ends_it_with_one_line(checkout: Path, environment: dict[str, str]) -> None:
    up = _start(checkout, environment | {"LOG_FORMAT": "pretty"})

    assert up.wait(BOOT_SECONDS) == 2
    assert "LOG_FORMAT" in up.stderr
    assert _noted(checkout) == []


@pytest.mark.any_database
def test_an_amqp_url_that_cannot_be_read_is_told_without_its_secret(
    checkout: Path, environment: dict[str, str]
) -> None:
    up = _start(checkout, environment | {"AMQP_URL": "http://user:SECRETPW@host/"})

    assert up.wait(BOOT_SECONDS) == 2
    assert "AMQP_URL" in up.stderr
    assert "SECRETPW" not in up.stderr + up.stdout


def _start(checkout: Path, environment: dict[str, str]) -> Command:
    return Command(
        [str(PROJECT / ".venv" / "bin" / "python"), "-m", "dev.up"],
        environment=environment,
        folder=checkout,
    )


def _noted(checkout: Path) -> list[processes.Known]:
    """Everything that runs for this checkout."""
    notes = (processes.noted(note) for note in checkout.rglob("*.process.json"))
    return [known for known in notes if known is not None]


def _site(output: str) -> str:
    found = re.search(r"catalog +(http://127\.0\.0\.1:\d+)/", output)
    assert found, output
    return found[1]


def _passwords(output: str) -> list[str]:
    return re.findall(r"sign in as +(\w+ +\S+)", output)


def _get(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=10) as response:
        text: str = response.read().decode()
        return text
