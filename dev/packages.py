"""Debian's packages: installed only where we are root on Debian or Ubuntu, and only said first.

Runs before .venv exists, on Python versions older than the project's: standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


class InstallFailed(Exception):
    """apt-get did not install it; the text tells what to run by hand."""


def can_install() -> bool:
    """Whether we may: root, and apt-get is there."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(*packages: str, purpose: str) -> None:
    """Say what is installed and why, then install it. Raises InstallFailed."""
    names = " ".join(packages)
    print(f"Installing {names} with apt-get: {purpose}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
    for command in (
        ["apt-get", *options, "update"],
        ["apt-get", *options, "install", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        # A failed update may be one mirror of several: the install decides.
        if done.returncode and "install" in command:
            sys.stdout.write(done.stdout.decode(errors="replace")[-3000:])
            raise InstallFailed(f"apt-get could not install {names}; its output stands above")
