"""Processes side by side: marked lines, one end for all, nothing left behind."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import processes
from dev.supervisor import END_SECONDS
from tests.environment import PROJECT
from tests.eventually import eventually

pytestmark = pytest.mark.any_database

# A supervisor as a process of its own: it installs signal handlers.
RUN = """
import os, sys
from pathlib import Path
from dev.supervisor import Supervisor
folder, *commands = sys.argv[1:]
supervisor = Supervisor(Path(folder), environment=os.environ)
for command in commands:
    name, _, line = command.partition("=")
    (supervisor.add_task if name == "task" else supervisor.add)(name, line)
try:
    code = supervisor.run()
finally:
    supervisor.end()
sys.exit(code)
"""


class Running:
    """A supervisor of these commands, and what it prints."""

    def __init__(self, folder: Path, *commands: str) -> None:
        self._folder = folder
        self._output = folder / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, str(folder), *commands],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def child(self, name: str) -> processes.Known:
        """The running child of that name, once it is there."""
        return eventually(
            lambda: processes.noted(self._folder / f"{name}.process.json"), what=f"start of {name}"
        )


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.wait()
        for note in tmp_path.glob("*.process.json"):
            known = processes.noted(note)
            if known is not None:
                processes.kill(known, group=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_in_good_order(
    tmp_path: Path, running: list[Running], number: signal.Signals
) -> None:
    run = Running(tmp_path, "one=echo up; exec sleep 60", "two=exec sleep 60")
    running.append(run)
    children = [run.child("one"), run.child("two")]
    # Printing begins after the handlers are set.
    eventually(lambda: "up" in run.output, what="the first line")

    run.process.send_signal(number)

    assert run.process.wait(15) == 0, run.output
    assert not any(child.is_alive() for child in children)
    assert list(tmp_path.glob("*.process.json")) == []


def test_one_that_dies_ends_all_and_is_named(tmp_path: Path, running: list[Running]) -> None:
    run = Running(tmp_path, "steady=exec sleep 60", "relay=echo last words; exit 3")
    running.append(run)

    assert run.process.wait(15) == 1, run.output
    assert "relay ended with exit 3: stopping everything." in run.output
    assert "relay  | last words" in run.output


def test_the_signal_that_killed_one_is_told(tmp_path: Path, running: list[Running]) -> None:
    run = Running(tmp_path, "relay=kill -9 $$")
    running.append(run)

    assert run.process.wait(15) == 1, run.output
    assert "relay was ended by signal 9" in run.output


def test_a_task_may_end_and_its_lines_have_no_mark(tmp_path: Path, running: list[Running]) -> None:
    run = Running(tmp_path, "steady=exec sleep 60", "task=echo a table")
    running.append(run)

    eventually(lambda: "a table" in run.output.splitlines(), what="the table")

    assert run.process.poll() is None


def test_the_children_of_a_child_are_ended_too(tmp_path: Path, running: list[Running]) -> None:
    run = Running(tmp_path, "parent=sleep 60 & echo child $!; wait", "other=exec sleep 60")
    running.append(run)
    eventually(lambda: "child" in run.output, what="the grandchild")
    grandchild = processes.know(int(run.output.split("child ")[1].split()[0]))

    run.process.terminate()

    assert run.process.wait(15) == 0
    assert not grandchild.is_alive()


TALKER = "talker=while :; do echo word; sleep 0.02; done"
# Ends by SIGKILL alone, and talks on until then.
STUBBORN = 'stubborn=trap "" TERM; while :; do echo word; sleep 0.02; done'


def test_one_that_dies_ends_all_while_another_keeps_talking(
    tmp_path: Path, running: list[Running]
) -> None:
    run = Running(tmp_path, TALKER, "relay=sleep 0.3; exit 3")
    running.append(run)

    assert run.process.wait(5) == 1
    assert "relay ended with exit 3: stopping everything." in run.output


def test_a_signal_is_heard_while_one_keeps_talking(tmp_path: Path, running: list[Running]) -> None:
    run = Running(tmp_path, TALKER)
    running.append(run)
    eventually(lambda: "word" in run.output, what="the first line")

    run.process.terminate()

    assert run.process.wait(5) == 0


def test_the_end_has_its_limit_for_one_that_talks_on(
    tmp_path: Path, running: list[Running]
) -> None:
    run = Running(tmp_path, STUBBORN)
    running.append(run)
    eventually(lambda: "word" in run.output, what="the first line")
    child = run.child("stubborn")

    run.process.terminate()

    assert run.process.wait(END_SECONDS + 4) == 0
    assert not child.is_alive()


def test_the_last_words_of_all_are_printed(tmp_path: Path, running: list[Running]) -> None:
    last_words = 'trap "seq 20000; exit" TERM; echo up; while :; do sleep 0.1; done'
    run = Running(tmp_path, f"steady={last_words}")
    running.append(run)
    eventually(lambda: "up" in run.output, what="the first line")

    run.process.terminate()

    assert run.process.wait(20) == 0
    assert run.output.splitlines()[-1].endswith("20000")
