"""A process is known by more than its number."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import processes
from tests.eventually import eventually

pytestmark = pytest.mark.any_database

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('ready', flush=True)\n"
    "time.sleep(60)",
]

# As a broker that is being killed: its threads do not all go at the same moment.
FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(SLEEP, start_new_session=True) as process:
        yield process
        process.kill()


def test_a_note_leads_back_to_the_process(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    note = tmp_path / "x.process.json"
    processes.note(note, sleeper.pid)

    known = processes.noted(note)

    assert known is not None
    assert (known.pid, known.is_alive()) == (sleeper.pid, True)


def test_a_note_of_an_earlier_process_of_that_number_is_stale(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    note = tmp_path / "x.process.json"
    note.write_text(json.dumps({"pid": sleeper.pid, "started": "before the reboot"}))

    assert processes.noted(note) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": 1, "started": ""}'])
def test_a_broken_note_is_no_process(tmp_path: Path, text: str) -> None:
    note = tmp_path / "x.process.json"
    note.write_text(text)

    assert processes.noted(note) is None


def test_a_stale_number_is_not_killed(sleeper: "subprocess.Popen[bytes]") -> None:
    stranger = processes.Known(pid=sleeper.pid, started="before the reboot")

    processes.kill(stranger)

    assert sleeper.poll() is None


def test_a_process_that_ended_and_was_not_collected_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    known = processes.know(process.pid)

    eventually(lambda: not known.is_alive())

    process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a dead first thread")
def test_a_process_whose_first_thread_alone_has_ended_is_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS])
    stat = Path(f"/proc/{process.pid}/stat")
    eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")

    known = processes.know(process.pid)

    assert known.is_alive()
    process.kill()
    process.wait()
    assert not known.is_alive()


def test_one_that_ignores_sigterm_is_killed_after_its_time() -> None:
    process = subprocess.Popen(STUBBORN, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    known = processes.know(process.pid)

    processes.end(known, within_seconds=0.2)

    assert not known.is_alive()
    process.stdout.close()
    process.returncode = 0


def test_children_are_found(sleeper: "subprocess.Popen[bytes]") -> None:
    assert sleeper.pid in processes.children(os.getpid())
