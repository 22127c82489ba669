"""Makes `.venv` with the pinned packages: `python3 dev/environment.py [--runtime]`.

Started by whatever python3 there is, so: standard library, and syntax of older versions. Does
nothing, in a moment, when `.venv` already holds what the requirement files ask for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from dev import packages  # noqa: E402 - the line above makes it importable

VENV = PROJECT / ".venv"
SUPPORTED = ((3, 13), (3, 12), (3, 11))
MISSING = 3


class SetUpFailed(Exception):
    """What is missing and how to get it, for the person at the terminal."""


def make_environment(*, requirements: str) -> None:
    """Afterwards `.venv` holds exactly these pins at least. Raises SetUpFailed."""
    if _stamp(requirements).exists() and _works(VENV / "bin" / "python"):
        return
    if not _works(VENV / "bin" / "python"):
        _create(_find_python())
    print(f"Installing {requirements} into .venv (only when it has changed) ...", flush=True)
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command = [*pip, "install", "--quiet", "--requirement", str(PROJECT / requirements)]
    # Root is not a mistake here: .venv is the project's own.
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SetUpFailed("pip could not install the pinned packages; its words stand above.")
    _stamp(requirements).touch()


def _stamp(requirements: str) -> Path:
    """There, once the present content of the requirement files is installed."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", requirements):
        digest.update((PROJECT / name).read_bytes())
    return VENV / f".{requirements}-{digest.hexdigest()[:16]}"


def _works(python: Path) -> bool:
    """Whether it starts and is of a supported version, with pip."""
    probe = f"import sys, pip; sys.exit(sys.version_info[:2] not in {SUPPORTED!r})"
    return python.exists() and _succeeds([str(python), "-c", probe])


def _find_python() -> str:
    wished = os.environ.get("PYTHON")
    names = [wished] if wished else ["python3", *(f"python{a}.{b}" for a, b in SUPPORTED)]
    probe = f"import sys; sys.exit(sys.version_info[:2] not in {SUPPORTED!r})"
    for name in names:
        found = shutil.which(name)
        if found and _succeeds([found, "-c", probe]):
            return found
    versions = ", ".join(f"{a}.{b}" for a, b in reversed(SUPPORTED))
    raise SetUpFailed(
        f"No Python of version {versions} was found (tried: {', '.join(names)}).\n"
        "Install one, or name it: make setup PYTHON=/path/to/python3.12"
    )


def _create(python: str) -> None:
    if not _succeeds([python, "-c", "import venv, ensurepip"]):
        _get_venv_module(python)
    if VENV.exists():
        print("Replacing .venv: its Python is gone, or not of a supported version.", flush=True)
    done = subprocess.run(
        [python, "-m", "venv", "--clear", str(VENV)], stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise SetUpFailed(f"{python} -m venv failed; its words stand above.")


def _get_venv_module(python: str) -> None:
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        stdout=subprocess.PIPE,
        check=True,
    )
    package = f"python{version.stdout.decode().strip()}-venv"
    if not packages.can_install():
        raise SetUpFailed(
            f"{python} comes without venv and ensurepip. On Debian and Ubuntu:\n"
            f"  sudo apt-get install {package}"
        )
    try:
        packages.install(package, purpose="Python's venv module makes .venv.")
    except packages.InstallFailed as error:
        raise SetUpFailed(str(error)) from error


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def main() -> int:
    # Not what pip was asked to do by somebody's virtual environment around us.
    os.environ.pop("PYTHONHOME", None)
    requirements = "requirements.txt" if "--runtime" in sys.argv else "requirements-dev.txt"
    if requirements == "requirements.txt" and _stamp("requirements-dev.txt").exists():
        requirements = "requirements-dev.txt"
    try:
        make_environment(requirements=requirements)
    except SetUpFailed as error:
        print(error, file=sys.stderr)
        return MISSING
    return 0


if __name__ == "__main__":
    sys.exit(main())
