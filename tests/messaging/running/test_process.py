"""The life of a command: what ends a wait, and what ends the process."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from messaging.running.process import Backoff, Lifetime
from tests.environment import PROJECT

pytestmark = pytest.mark.any_database

SHORT, LONG = 1.0, 60.0
PROCESS = """
import sqlite3, sys, time
from catalogsite.start import read_settings, set_up_logging
read_settings(serves_pages=False); set_up_logging()
import structlog
from messaging.running import process
process.STOP_GRACE_SECONDS = {grace}
log = structlog.get_logger("a test")
with process.Lifetime() as lifetime:
    print("begun", flush=True)
    {work}
"""
WAIT = "lifetime.wait_until(lambda: False, None)"
SLEEP = "time.sleep(60)"
# Python's own signal handlers cannot run before the call returns.
WAIT_INSIDE_SQLITE = """
    one, two = sqlite3.connect({path!r}), sqlite3.connect({path!r}, timeout=60)
    one.execute("BEGIN EXCLUSIVE"); two.execute("BEGIN EXCLUSIVE")
"""
LOG_TO_NOBODY = """
    while True: log.warning("x" * 10_000)
"""


@contextmanager
def a_process(work: str, *, grace_seconds: float) -> Iterator["subprocess.Popen[str]"]:
    """It has begun its work; what it logs is not read."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS.format(grace=grace_seconds, work=work)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n", process.communicate()
            time.sleep(0.1)  # nothing tells that it is deep in the call by now
            yield process
        finally:
            process.kill()


def open_descriptors() -> set[tuple[int, int, int]]:
    """Each by itself, with what is behind it: their count falls, too, when an earlier test's
    leavings go."""
    found = set()
    for name in os.listdir("/dev/fd"):
        # The one that the list itself was read from is closed by now.
        with suppress(OSError):
            behind = os.fstat(int(name))
            found.add((int(name), behind.st_dev, behind.st_ino))
    return found


def test_a_signal_ends_a_wait_and_the_process_in_good_order() -> None:
    with a_process(WAIT, grace_seconds=LONG) as process:
        process.send_signal(signal.SIGTERM)

        assert process.wait(LONG / 2) == 0


@pytest.mark.parametrize("work", [WAIT_INSIDE_SQLITE, LOG_TO_NOBODY, SLEEP])
def test_work_that_does_not_end_is_abandoned_after_the_grace(work: str, tmp_path: Path) -> None:
    work = work.format(path=str(tmp_path / "locked"))
    with a_process(work, grace_seconds=SHORT) as process:
        process.send_signal(signal.SIGTERM)

        assert process.wait(LONG / 2) == 0


@pytest.mark.parametrize("work", [WAIT_INSIDE_SQLITE, LOG_TO_NOBODY, SLEEP])
def test_a_second_signal_ends_the_process_at_once(work: str, tmp_path: Path) -> None:
    work = work.format(path=str(tmp_path / "locked"))
    with a_process(work, grace_seconds=LONG) as process:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)  # two at the same moment are one to the kernel
        process.send_signal(signal.SIGTERM)

        assert process.wait(LONG / 2) == 1


def test_a_wait_ends_when_another_thread_wakes_it() -> None:
    ready = threading.Event()
    with Lifetime(catch_signals=False) as lifetime:

        def make_ready() -> None:
            ready.set()
            lifetime.wake()

        threading.Timer(0.05, make_ready).start()

        assert lifetime.wait_until(ready.is_set, 10)


def test_no_wake_is_lost_between_looking_and_sleeping() -> None:
    turns = 3_000
    given, taken = 0, 0
    with Lifetime(catch_signals=False) as lifetime:

        def give() -> None:
            nonlocal given
            for number in range(1, turns + 1):
                given = number
                lifetime.wake()
                while taken < number:
                    time.sleep(0)

        giver = threading.Thread(target=give)
        giver.start()
        for number in range(1, turns + 1):
            assert lifetime.wait_until(lambda wanted=number: given >= wanted, 5), number
            taken = number
        giver.join()


def test_a_wait_ends_out_of_time_and_when_stopping() -> None:
    with Lifetime(catch_signals=False) as lifetime:
        out_of_time = lifetime.wait_until(lambda: False, 0.01)
        threading.Timer(0.05, lifetime.stop).start()
        stopped = lifetime.wait_until(lambda: False, 10)

    assert (out_of_time, stopped, lifetime.stopping) == (False, False, True)


def test_a_wait_looks_again_when_the_descriptor_is_readable() -> None:
    here, there = socket.socketpair()
    with here, there, Lifetime(catch_signals=False) as lifetime:
        here.setblocking(False)

        def received() -> bool:
            try:
                return bool(here.recv(1))
            except BlockingIOError:
                return False

        threading.Timer(0.05, lambda: there.send(b"x")).start()

        assert lifetime.wait_until(received, 10, fileno=here.fileno())


def test_a_database_that_hangs_loses_its_connection_after_the_limit() -> None:
    here, there = socket.socketpair()
    with here, there, Lifetime(catch_signals=False) as lifetime:
        here.settimeout(10)

        with lifetime.database_turn(here.fileno(), limit_seconds=0.1):
            answer = here.recv(1)

    assert answer == b""


def test_a_connection_that_is_gone_already_does_not_end_the_watch() -> None:
    here, there = socket.socketpair()
    with there, Lifetime(catch_signals=False) as lifetime:
        with lifetime.database_turn(here.fileno(), limit_seconds=0):
            here.close()
            time.sleep(0.6)  # more than two looks of the watchdog
        with socket.create_server(("127.0.0.1", 0)) as server:
            again = socket.create_connection(server.getsockname())
            with again, lifetime.database_turn(again.fileno(), limit_seconds=0.1):
                again.settimeout(10)
                assert again.recv(1) == b""


def test_lifetimes_leave_no_descriptor_thread_or_handler_behind() -> None:
    gc.collect()
    open_before, threads_before = open_descriptors(), set(threading.enumerate())
    handler_before = signal.getsignal(signal.SIGTERM)

    for _ in range(10):
        with Lifetime() as lifetime:
            lifetime.wake()
        del lifetime
    gc.collect()

    assert open_descriptors() - open_before == set()
    assert set(threading.enumerate()) - threads_before == set()
    assert signal.getsignal(signal.SIGTERM) == handler_before


def test_pauses_double_up_to_half_a_minute_with_jitter_and_start_anew() -> None:
    backoff = Backoff()

    pauses = [backoff.next_seconds() for _ in range(8)]
    backoff.reset()

    ceilings = [1, 2, 4, 8, 16, 30, 30, 30]
    assert all(0.1 <= pause <= top for pause, top in zip(pauses, ceilings, strict=True))
    assert len(set(pauses)) == len(pauses)
    assert backoff.next_seconds() <= 1
