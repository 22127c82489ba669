"""The guardian ends what a run started, even when the run could say no goodbye."""

import subprocess
import sys
from pathlib import Path

import pytest

from dev import guardian, processes
from tests.environment import PROJECT
from tests.eventually import eventually

pytestmark = pytest.mark.any_database

# Starts a process, notes it, and is then killed without a chance to clean up.
RUN = """
import os, signal, subprocess, sys
from pathlib import Path
from dev import guardian, processes
folder = Path(sys.argv[1])
guard = guardian.watch_over(folder)
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
processes.note(folder / "child.process.json", child.pid)
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _sleeper(folder: Path) -> processes.Known:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    processes.note(folder / "child.process.json", child.pid)
    # The guardian ends it and `processes` collects it.
    child.returncode = 0
    return processes.know(child.pid)


def test_what_was_noted_is_ended_and_the_folder_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    guard = guardian.watch_over(folder)
    child = _sleeper(folder)

    guard.release()

    assert not child.is_alive()
    assert not folder.exists()


def test_a_folder_that_is_to_be_kept_stays(tmp_path: Path) -> None:
    guard = guardian.watch_over(tmp_path, keep=True)
    child = _sleeper(tmp_path)

    guard.release()

    assert not child.is_alive()
    assert list(tmp_path.iterdir()) == []


def test_the_death_of_the_run_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    run = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )

    child = processes.know(int(run.stdout))
    assert run.returncode == -9
    eventually(lambda: not child.is_alive(), what="the end of the child")
    eventually(lambda: not folder.exists(), what="the end of the folder")
