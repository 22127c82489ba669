"""What commands write, wherever it goes: a full disk, a closed stream, an old terminal."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from catalogsite.command_output import CommandOutput
from materials import actions
from materials.models import Material
from messaging.models import OperatorBatch
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
        "The report is cut short, not the work."
    )
    assert "Traceback" not in err


@pytest.mark.skipif(not FULL.exists(), reason="about a device of Linux")
def test_what_cannot_be_reported_is_done_all_the_same(run: Run) -> None:
    names = [f"material-{number}" for number in range(4)]
    for name in names:
        actions.create(name, title="A title", actor="test")
    unbuffered = {"PYTHONUNBUFFERED": "1"}  # so that the first line fails, not a page of them

    code, _out, err = manage(
        run, f"publish_material {' '.join(names[:2])}", redirect=f"> {FULL}", **unbuffered
    )
    with _nobody_reads() as stream:
        published_unread = _run(run, "publish_material", *names[2:], stdout=stream, **unbuffered)

    assert (code, len(err.splitlines()), "takes no more" in err) == (1, 1, True)
    assert (published_unread.returncode, published_unread.stderr) == (0, b"")
    assert Material.objects.filter(state="published").count() == 4


def test_nobody_reading_what_is_refused_changes_neither_the_work_nor_its_code(run: Run) -> None:
    for body in (b"no event", published("article-1"), b"nor this"):
        died(body)

    with _nobody_reads() as stream:
        decided = [
            _run(run, "dead_letters", "requeue", *some, stderr=stream)
            for some in (("1000000000",), ("--all-matching", "--yes"))
        ]

    assert [each.returncode for each in decided] == [1, 1]
    assert decided[1].stdout == b"1 done, 2 refused.\n"
    batch = OperatorBatch.objects.get()
    assert (batch.done, batch.refused, batch.ended_because) == (1, 2, "")


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

    with _nobody_reads() as stream:
        done = _run(run, *arguments.split(), stdout=stream)

    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.any_database
def test_a_stream_that_fails_falls_silent_but_a_log_goes_on(run: Run) -> None:
    disk = _Disk()
    report, log = CommandOutput(disk), CommandOutput(disk, is_a_log=True)

    disk.is_full = True
    for stream in (report, log):
        print("a line that does not fit", file=stream)
    disk.is_full = False
    for stream in (report, log):
        print("a line that fits", file=stream)

    assert disk.getvalue() == "a line that fits\n"
    assert (report.writable(), log.writable()) == (False, True)
    assert [each.lost and each.lost.errno for each in (report, log)] == [errno.ENOSPC] * 2


def test_without_a_standard_output_a_command_still_works(run: Run) -> None:
    code, _out, err = manage(run, "delivery_status", redirect=">&-")

    assert (code in (0, 1), "Traceback" in err, "Error" in err) == (True, False, False)


@pytest.mark.parametrize("arguments", ["delivery_status", "dead_letters list"])
def test_a_terminal_that_cannot_show_a_letter_gets_its_escape(run: Run, arguments: str) -> None:
    died(published(), reason="Ж")

    _code, out, err = manage(run, arguments, redirect="", PYTHONIOENCODING="ascii", LC_ALL="C")

    assert "\\u0416" in out
    assert "Traceback" not in err


def _run(
    run: Run,
    *arguments: str,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    **settings: str,
) -> "subprocess.CompletedProcess[bytes]":
    environment = environment_for(url=run.environment["DATABASE_URL"]) | run.environment | settings
    line = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        line, cwd=PROJECT, env=environment, stdout=stdout, stderr=stderr, timeout=120
    )


@contextmanager
def _nobody_reads() -> Iterator[int]:
    """The writing end of a pipe whose reader has gone away."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        yield writes
    finally:
        os.close(writes)


class _Disk(io.StringIO):
    is_full = False

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(text)
