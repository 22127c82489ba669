"""One benchmark from end to end, as small as it can be."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bench import runner
from bench.report import Report
from bench.stage import Stage
from dev import packages, services
from dev.rabbitmq import RabbitNode
from tests.environment import PROJECT, clean_environment
from tests.eventually import eventually

pytestmark = pytest.mark.any_database


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where the benchmark's own folder comes and goes."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def start(broker: RabbitNode, scratch: Path) -> "subprocess.Popen[str]":
    options = ["--quick", "--only", "SQLite", "--no-peers", "--broker", broker.amqp_url]
    return subprocess.Popen(
        [sys.executable, "-m", "bench.relay", *options, "--results", str(scratch.parent)],
        cwd=PROJECT,
        env=clean_environment() | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_benchmark_measures_in_turn_and_accounts_for_every_event(
    broker: RabbitNode, scratch: Path
) -> None:
    process = start(broker, scratch)
    printed, told = process.communicate()

    assert process.returncode == 0, told
    result = json.loads((scratch.parent / "relay.json").read_text(encoding="utf-8"))
    names = ["publish only, classic", "relay_outbox, SQLite, classic", "naive loop, SQLite"]
    assert list(result["sections"][0]["data"]) == names
    assert len(result["accounts"]) == 4
    assert [goal["what"] for goal in result["goals"]] == [
        "share of the publish-only rate, SQLite, classic",
        "times the naive loop, SQLite",
    ]
    assert (scratch.parent / "relay.md").read_text(encoding="utf-8").strip() in printed
    assert not list(scratch.iterdir())


def test_a_benchmark_that_is_interrupted_leaves_nothing(broker: RabbitNode, scratch: Path) -> None:
    process = start(broker, scratch)
    eventually(lambda: list(scratch.glob("*/*.process.json")), 60, what="its first process")

    process.send_signal(signal.SIGINT)
    process.communicate()

    assert process.returncode == 130
    assert not list(scratch.iterdir())


def test_a_benchmark_whose_programs_cannot_be_had_says_how_to_get_them_and_starts_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "SERVICES", {"rabbitmq-server": lambda: None})
    monkeypatch.setattr(packages, "can_install", lambda: False)
    monkeypatch.setattr(sys, "argv", ["bench.relay", "--quick", "--only", "SQLite"])
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    code = runner.run("relay", "Relay", _never, add_arguments=runner.choose_databases)

    assert code == runner.CONFIGURATION
    assert "sudo apt-get install rabbitmq-server" in capfd.readouterr().err
    assert not list(scratch.iterdir())


def _never(_stage: Stage, _report: Report, _options: runner.Options) -> None:
    pytest.fail("it was measured all the same")
