"""An environment of its own for each peer, made once and kept: its packages are not ours."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from bench.stage import PROJECT, say

PEERS = PROJECT / "bench" / "peers"
CACHE = PROJECT / "var" / "bench-peers"
INSTALL_SECONDS = 600


class NotInstalled(Exception):
    """The peer cannot be had; the text is the last that pip said."""


def python_of(peer: str) -> Path:
    """The interpreter with the peer's pinned packages. Raises NotInstalled."""
    requirements = PEERS / peer / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{peer}-{digest}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists() and python.exists():
        return python
    say(f"installing {peer} into an environment of its own")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    _run([sys.executable, "-m", "venv", str(folder)], peer)
    _run([*pip, "--quiet", "--requirement", str(requirements)], peer)
    (folder / "complete").touch()
    return python


def _run(command: list[str], peer: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{peer}: no end after {INSTALL_SECONDS} s") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise NotInstalled(f"{peer}: {said[-1]}")
