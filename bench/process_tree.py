"""What a process and all its descendants have used: CPU and memory, from /proc."""

import os
from contextlib import suppress
from pathlib import Path

from dev import processes

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of the tree so far, collected children included."""
    return sum(_cpu_ticks(each) for each in _tree(pid)) / _TICKS


def peak_mb(pid: int) -> float:
    """The peaks of resident memory of the tree's processes, added up."""
    return sum(_peak_kb(each) for each in _tree(pid)) / 1024


def _tree(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        found += processes.children(each)
    return found


def _cpu_ticks(pid: int) -> int:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0


def _peak_kb(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0
