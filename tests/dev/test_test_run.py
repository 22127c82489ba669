"""A run that failed here and there on a busy machine: what is tried again, and what is told."""

import os
from pathlib import Path

import pytest

from dev import test_run

# Fails as long as a file is not long enough, which it makes longer: so only the first times.
ONCE = """
from pathlib import Path

import pytest

@pytest.mark.parametrize("word", ["a b", "[::]", "ж"])
def test_once(word):
    mark = Path({folder!r}) / word.encode().hex()
    times = len(mark.read_bytes()) if mark.exists() else 0
    mark.write_bytes(b"." * (times + 1))
    assert times >= {fails}

def test_well():
    pass
"""
ALWAYS = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_always(number):
    assert False
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite that needs nothing of the project, and is quick to start."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    return tmp_path / "test_of_a_suite.py"


def run(suite: Path) -> test_run.Result:
    plain = ["-n", "0", "-c", os.devnull, f"--rootdir={suite.parent}"]
    return test_run._run_suite("SQLite", "", folder=suite.parent, arguments=[*plain, str(suite)])


@pytest.mark.parametrize("fails", range(1, test_run.TRIES_ALONE + 1))
def test_what_passes_when_it_is_run_again_alone_fails_no_run_and_is_named(
    suite: Path, fails: int, capfd: pytest.CaptureFixture[str]
) -> None:
    suite.write_text(ONCE.format(folder=str(suite.parent), fails=fails))

    result = run(suite)

    assert result.code == 0
    assert result.counts == "1 passed, 3 failed, 0 skipped"
    assert len(result.only_alone) == 3
    test_run._tell([result], missing=[])
    told = capfd.readouterr().out.splitlines()[-4:]
    assert told[0] == "SQLite: passed only when run again alone:"
    assert {line.strip() for line in told[1:]} == set(result.only_alone)


def test_what_fails_again_fails_the_run(suite: Path) -> None:
    suite.write_text(ALWAYS.format(count=1))

    result = run(suite)

    assert (result.code, result.only_alone) == (test_run.FAILED, ())


def test_many_failures_are_no_accident_and_are_not_run_again(
    suite: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    suite.write_text(ALWAYS.format(count=test_run.FAILURES_TRIED_AGAIN + 1))

    result = run(suite)

    assert (result.code, result.only_alone) == (test_run.FAILED, ())
    assert "again and alone" not in capfd.readouterr().out


def test_where_no_bytecode_may_lie_beside_the_sources_the_run_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)

    environment = test_run._environment("", folder=tmp_path)

    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert environment["PYTHONPYCACHEPREFIX"] == str(tmp_path / "bytecode")
