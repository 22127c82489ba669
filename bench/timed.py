"""One turn in a process of its own: `python -m bench.timed MODULE OPTIONS-AS-JSON`.

Imports and connections that are not part of the work are made by the module's `prepare`; then
the process says that it is ready, waits for a line, works, and tells what it took.
"""

import importlib
import json
import resource
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """What a contestant's work returns: how many messages, and when the last was done.

    `ended` is by time.monotonic(); None means at the return.
    """

    count: int
    ended: float | None = None


def main() -> None:
    name, options = sys.argv[1], json.loads(sys.argv[2])
    work = importlib.import_module(f"bench.contestants.{name}").prepare(**options)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return  # Whoever would have let us go is gone.
    cpu_before, began = _cpu_seconds(), time.monotonic()
    done: Done = work()
    result = {
        "count": done.count,
        "began": began,
        "ended": done.ended or time.monotonic(),
        "cpu_seconds": _cpu_seconds() - cpu_before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result), flush=True)


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
