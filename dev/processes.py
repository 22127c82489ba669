"""Processes that are known by more than their number: a pid is used again after a reboot."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Known:
    """One process, told apart from a later one of the same number by its moment of start."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        """Whether this very process runs (one that ended and was not collected does not)."""
        return bool(self.started) and _moment_of_start(self.pid) == self.started


def know(pid: int) -> Known:
    """The process that has this number now."""
    return Known(pid=pid, started=_moment_of_start(pid))


def note(path: Path, pid: int) -> None:
    """Write down a process that was just started, for whoever has to end it later."""
    path.write_text(json.dumps(asdict(know(pid))), encoding="ascii")


def noted(path: Path) -> Known | None:
    """The process written down there, if it still runs; a stale or broken note is none."""
    try:
        known = Known(**json.loads(path.read_text(encoding="ascii")))
    except (OSError, ValueError, TypeError):
        return None
    return known if known.is_alive() else None


def end(
    process: Known,
    *,
    within_seconds: float,
    group: bool = False,
    by: signal.Signals = signal.SIGTERM,
) -> None:
    """Ask by a signal, and SIGKILL when it still runs after the time. Returns once it is gone."""
    _send(process, by, group=group)
    if not _gone_within(process, within_seconds):
        kill(process, group=group)


def kill(process: Known, *, group: bool = False) -> None:
    """SIGKILL to the process (and its group), at once. Returns once it is gone."""
    _send(process, signal.SIGKILL, group=group)
    if not _gone_within(process, 10):
        raise TimeoutError(f"process {process.pid} survived SIGKILL for 10 s")


def children(pid: int) -> list[int]:
    """The direct children of a process, whatever session or group they moved to."""
    return [child for child, parent in _parents() if parent == pid]


def send_to_all(pids: Iterable[int], number: signal.Signals) -> None:
    """One signal to each of them; the ones that are gone are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def send_to_group(leader: int, number: signal.Signals) -> None:
    """One signal to the group that a process of ours leads; an empty group is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _send(process: Known, number: signal.Signals, *, group: bool) -> None:
    if not process.is_alive():
        return
    with contextlib.suppress(ProcessLookupError):
        if group and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)


def _gone_within(process: Known, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while process.is_alive():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    _collect(process.pid)
    return True


def _collect(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of every process."""
    if not os.path.exists("/proc/self/stat"):
        for line in _ps("-A", "-o", "pid=,ppid=").splitlines():
            child, parent = line.split()
            yield int(child), int(parent)
        return
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, IndexError):
            if name.isdigit():
                yield int(name), int(_fields_after_name(int(name))[1])


def _fields_after_name(pid: int) -> list[str]:
    """State, parent and so on, from /proc; the name before them may hold any character."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()


def _moment_of_start(pid: int) -> str:
    """Empty for a process that is not there, or is dead and not collected."""
    try:
        after_name = _fields_after_name(pid)
    except OSError:
        if os.path.exists("/proc/self/stat"):
            return ""
        state, _, moment = _ps("-o", "stat=,lstart=", "-p", str(pid)).strip().partition(" ")
        return "" if state.startswith("Z") else moment.strip()
    state, ticks_since_boot = after_name[0], after_name[19]
    dead = state == "X" or (state == "Z" and not _other_threads(pid))
    return "" if dead else f"{ticks_since_boot}@{_boot_id()}"


def _other_threads(pid: int) -> bool:
    """The first thread may be dead while others still hold the ports and files of them all."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot_id:
            return boot_id.read().strip()
    except OSError:
        return ""


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False).stdout
