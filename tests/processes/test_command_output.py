"""What commands write, wherever it goes: a full disk, a closed stream, an old terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from materials import actions
from materials.models import Material
from tests.environment import PROJECT
from tests.messaging.dead import died
from tests.messaging.facts import published
from tests.processes.database import environment_for
from tests.processes.harness import Run

FULL = Path("/dev/full")


def manage(run: Run, arguments: str, *, redirect: str, **settings: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command behind a shell's redirection."""
    line = f"exec {sys.executable} manage.py {arguments} {redirect}"
    environment = environment_for(url=run.environment["DATABASE_URL"]) | run.environment | settings
    done = subprocess.run(
        ["sh", "-c", line], cwd=PROJECT, env=environment, capture_output=True, timeout=120
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.skipif(not FULL.exists(), reason="about a device of Linux")
@pytest.mark.parametrize(
    "arguments", ["audit_trail --json", "delivery_status", "dead_letters list"]
)
def test_a_full_disk_is_told_in_one_line(run: Run, arguments: str) -> None:
    died(published())

    code, _out, err = manage(run, arguments, redirect=f"> {FULL}")

    assert code == 1
    assert err.splitlines()[-1] == (
        "CommandError: standard output takes no more: No space left on device. "
        "What was done before is done."
    )
    assert "Traceback" not in err


@pytest.mark.skipif(not FULL.exists(), reason="about a device of Linux")
def test_what_was_published_before_the_disk_was_full_stays_published(run: Run) -> None:
    for name in ("first", "second"):
        actions.create(name, title="A title", actor="test")

    code, _out, err = manage(run, "publish_material first second", redirect=f"> {FULL}")

    assert (code, "Traceback" in err) == (1, False)
    assert Material.objects.get(material_id="first").state == "published"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("audit_trail", 0),
        ("dead_letters list", 0),
        ("dead_letters list --json", 0),
        ("prune_delivery --older-than 30 --dry-run", 0),
        ("delivery_status", 1),  # for the open letter: the state is told by the code as well
    ],
)
def test_a_reader_that_goes_away_early_is_no_failure(run: Run, arguments: str, code: int) -> None:
    died(published())
    reads, writes = os.pipe()
    os.close(reads)

    line = [sys.executable, "manage.py", *arguments.split()]
    environment = environment_for(url=run.environment["DATABASE_URL"]) | run.environment
    done = subprocess.run(
        line, cwd=PROJECT, env=environment, stdout=writes, stderr=subprocess.PIPE, timeout=120
    )

    os.close(writes)
    assert (done.returncode, done.stderr) == (code, b"")


def test_without_a_standard_output_a_command_still_works(run: Run) -> None:
    code, _out, err = manage(run, "delivery_status", redirect=">&-")

    assert (code in (0, 1), "Traceback" in err, "Error" in err) == (True, False, False)


@pytest.mark.parametrize("arguments", ["delivery_status", "dead_letters list"])
def test_a_terminal_that_cannot_show_a_letter_gets_its_escape(run: Run, arguments: str) -> None:
    died(published(), reason="Ж")

    _code, out, err = manage(run, arguments, redirect="", PYTHONIOENCODING="ascii", LC_ALL="C")

    assert "\\u0416" in out
    assert "Traceback" not in err
