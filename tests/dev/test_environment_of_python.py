"""`make setup`: quick when nothing changed, and plain words when something is missing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dev import environment, packages
from dev.environment import SetUpFailed, make_environment

pytestmark = pytest.mark.any_database

REQUIREMENTS = "requirements-dev.txt"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without `.venv`, whose pins need no network."""
    (tmp_path / "requirements.txt").write_text("")
    (tmp_path / REQUIREMENTS).write_text("# nothing\n")
    monkeypatch.setattr(environment, "PROJECT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setenv("PYTHON", sys.executable)
    # pip brings its bytecode along.
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def environment_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made-once") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
    return made


@pytest.fixture
def python(environment_to_copy: Path) -> str:
    """The shell's words for this Python, which has an environment of its own at hand: to make
    one takes seconds, and two tests here do it in earnest."""
    copy = f'rm -rf "$4"; exec cp -a {environment_to_copy} "$4"'
    return f'case "$*" in "-m venv --clear "*) {copy};; esac; exec {sys.executable} "$@"'


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return write


def test_a_second_run_does_nothing_until_the_pins_change(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_environment(requirements=REQUIREMENTS)
    assert (project / ".venv" / "bin" / "python").exists()
    first = capfd.readouterr().out

    make_environment(requirements=REQUIREMENTS)
    second = capfd.readouterr().out
    (project / "requirements.txt").write_text("# changed\n")
    make_environment(requirements=REQUIREMENTS)

    assert "Installing" in first
    assert second == ""
    assert "Installing" in capfd.readouterr().out


def test_an_environment_whose_python_is_gone_is_made_anew(project: Path) -> None:
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere/python3.11")

    make_environment(requirements=REQUIREMENTS)

    assert python.resolve().exists()


def test_pins_that_cannot_be_installed_are_tried_again_next_time(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path], python: str
) -> None:
    monkeypatch.setenv("PYTHON", str(script("python3", python)))
    (project / REQUIREMENTS).write_text("./not-there\n")

    for _ in range(2):
        with pytest.raises(SetUpFailed, match="pip"):
            make_environment(requirements=REQUIREMENTS)


def test_a_python_of_another_version_is_told_with_the_remedy(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path]
) -> None:
    old = script("python-of-old", "exit 1")
    monkeypatch.setenv("PYTHON", str(old))

    with pytest.raises(SetUpFailed, match=r"3\.11, 3\.12, 3\.13") as told:
        make_environment(requirements=REQUIREMENTS)

    assert "make setup PYTHON=" in str(told.value)


def test_a_supported_python_beside_an_old_one_is_found(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path], python: str
) -> None:
    script("python3", "exit 1")
    monkeypatch.delenv("PYTHON")
    new = script("python3.11", python)
    monkeypatch.setenv("PATH", f"{new.parent}:/usr/bin:/bin")
    monkeypatch.setattr(environment, "SUPPORTED", (sys.version_info[:2], (3, 11)))

    make_environment(requirements=REQUIREMENTS)

    assert (project / ".venv" / "bin" / "python").exists()


def test_a_missing_venv_module_is_told_with_its_package(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path]
) -> None:
    bare = script("python3", f'case "$*" in *ensurepip*) exit 1;; esac; exec {sys.executable} "$@"')
    monkeypatch.setenv("PYTHON", str(bare))
    monkeypatch.setattr(packages, "can_install", lambda: False)

    with pytest.raises(SetUpFailed, match=r"apt-get install python3\.\d+-venv"):
        make_environment(requirements=REQUIREMENTS)


def test_a_missing_venv_module_is_installed_as_root_on_debian(
    project: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path], python: str
) -> None:
    bare = script("python3", f'case "$*" in *ensurepip*) exit 1;; esac; {python}')
    monkeypatch.setenv("PYTHON", str(bare))
    monkeypatch.setattr(packages, "can_install", lambda: True)
    installed: list[str] = []
    monkeypatch.setattr(packages, "install", lambda *names, purpose: installed.extend(names))

    make_environment(requirements=REQUIREMENTS)

    assert installed == [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]


def test_apt_get_is_told_and_its_failure_too(
    monkeypatch: pytest.MonkeyPatch,
    script: Callable[[str, str], Path],
    capfd: pytest.CaptureFixture[str],
) -> None:
    fake = script("apt-get", 'case "$*" in *install*) echo E: no such package; exit 100;; esac')
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    with pytest.raises(packages.InstallFailed, match="no-such-thing"):
        packages.install("no-such-thing", purpose="a test asks for it.")

    output = capfd.readouterr().out
    assert output.startswith("Installing no-such-thing with apt-get: a test asks for it.")
    assert "E: no such package" in output
