"""The broker in Docker Compose, with a `docker` that writes down what it is told."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.docker_broker import ComposeFailed, DockerBroker, engine_answers

pytestmark = pytest.mark.any_database

Play = Callable[[str], Path]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Puts a `docker` of these shell lines first on the PATH; returns where it writes."""
    told = tmp_path / "told"

    def play(lines: str) -> Path:
        script = tmp_path / "docker"
        script.write_text(f'#!/bin/sh\necho "$* port=$AMQP_PORT" >> {told}\n{lines}\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return told

    return play


@pytest.mark.parametrize(
    ("lines", "answers"),
    [("exit 0", True), ('[ "$1" != info ]', False), ('[ "$1" != compose ]', False)],
    ids=["all there", "no engine", "no Compose"],
)
def test_an_engine_answers_when_it_runs_and_has_compose(
    docker: Play, lines: str, answers: bool
) -> None:
    docker(lines)

    assert engine_answers() is answers


def test_only_the_broker_is_started_and_taken_away_on_the_port_it_tells(docker: Play) -> None:
    told = docker("exit 0")
    broker = DockerBroker()

    broker.start()
    broker.stop()

    start, stop = told.read_text().splitlines()
    port = broker.amqp_url.rpartition(":")[2].partition("/")[0]
    assert start.endswith(f"up --detach --wait rabbitmq port={port}")
    assert stop.endswith(f"rm --stop --force rabbitmq port={port}")


def test_what_compose_says_is_passed_on(docker: Play) -> None:
    docker("echo no space left on device >&2; exit 1")

    with pytest.raises(ComposeFailed, match="no space left on device"):
        DockerBroker().start()
