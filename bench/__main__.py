"""`python -m bench [--quick]`: every benchmark, one after another, then all results as one page.

Pages are asked, and databases grown, to a tenth of what their own benchmarks fill: that alone takes
many minutes.
"""

import signal
import subprocess
import sys
import time
from types import FrameType

from bench import summary
from bench.runner import CONFIGURATION, RESULTS, STOPPED
from bench.stage import say

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "publish": (),
    "relay": (),
    "consume": (),
    "latency": (),
    "pages": ("--materials", "100000"),
    "dead_letters": ("--letters", "100000"),
    "growth": ("--facts", "1000000", "--materials", "100000", "--backlog", "100000"),
}


def main() -> int:
    failed = []
    for name, sizes in BENCHMARKS.items():
        began = time.monotonic()
        say(f"--- {name}")
        usual = () if "--quick" in sys.argv else sizes
        code = run([sys.executable, "-m", f"bench.{name}", *usual, *sys.argv[1:]])
        if code in (STOPPED, CONFIGURATION):
            return code
        if code:
            failed.append(name)
        say(f"--- {name}: {time.monotonic() - began:.0f} s")
    summary.write(RESULTS)
    for name in failed:
        say(f"FAILED: {name}")
    return 1 if failed else 0


def run(command: list[str]) -> int:
    """Its exit code. It is asked to stop when we are, and has then left nothing."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(STOPPED)
