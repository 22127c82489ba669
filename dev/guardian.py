"""Ends what a run started, however the run ended: it outlives a SIGKILL of the run.

`python -m dev.guardian FOLDER [--keep]` waits until its standard input closes (the run holds
the other end), then ends every process noted below FOLDER and removes the folder.
"""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from dev import processes

NOTES = "*.process.json"


class Guard:
    """Our end of the wire to the guardian. Our death lets go of it, too."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def release(self) -> None:
        """Returns when everything is ended (and the folder gone, unless it was to be kept)."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def watch_over(folder: Path, *, keep: bool = False) -> Guard:
    """Start the guardian of this folder; with `keep` the folder stays when all is ended."""
    return Guard(
        subprocess.Popen(
            [sys.executable, "-m", "dev.guardian", str(folder), *(["--keep"] if keep else [])],
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    )


def end_everything(folder: Path) -> None:
    """Kill each process noted below the folder."""
    for path in sorted(folder.rglob(NOTES)):
        known = processes.noted(path)
        if known is not None:
            processes.kill(known, group=True)
        path.unlink(missing_ok=True)


def main() -> None:
    folder, keep = Path(sys.argv[1]), "--keep" in sys.argv[2:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_everything(folder)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
