"""The broker of docker-compose.yml alone, for `make up` where RabbitMQ is not installed."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from dev.free_ports import LOOPBACK, free_port

_PROJECT = Path(__file__).resolve().parent.parent
ANSWER_SECONDS = 15
START_SECONDS = 300


class ComposeFailed(Exception):
    """Docker Compose did not start the broker; its own words are in the text."""


def engine_answers() -> bool:
    """Whether there is a Docker engine, and Compose to speak to it."""
    if shutil.which("docker") is None:
        return False
    return all(_succeeds(["docker", *command]) for command in (["info"], ["compose", "version"]))


class DockerBroker:
    """One container on a free port of the loopback interface; its volume stays when it stops."""

    def __init__(self) -> None:
        self._port = free_port()

    @property
    def amqp_url(self) -> str:
        return f"amqp://guest:guest@{LOOPBACK}:{self._port}/%2F"

    def start(self) -> None:
        """Returns when the container is healthy. Raises ComposeFailed."""
        print("Starting RabbitMQ with Docker Compose (the first time, it is downloaded) ...")
        self._compose("up", "--detach", "--wait", "rabbitmq", timeout_seconds=START_SECONDS)

    def stop(self) -> None:
        self._compose("rm", "--stop", "--force", "rabbitmq", timeout_seconds=60)

    def is_running(self) -> bool:
        """The engine looks after it."""
        return True

    def _compose(self, *arguments: str, timeout_seconds: float) -> None:
        # One project a checkout: two of them side by side have a broker each.
        name = f"catalogsite-up-{hashlib.sha256(bytes(_PROJECT)).hexdigest()[:8]}"
        done = subprocess.run(
            ["docker", "compose", "--project-name", name, *arguments],
            cwd=_PROJECT,
            env={**os.environ, "AMQP_PORT": str(self._port), "RABBITMQ_USER": "guest"}
            | {"RABBITMQ_PASSWORD": "guest", "MANAGEMENT_PORT": str(free_port())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        if done.returncode:
            raise ComposeFailed(f"docker compose {arguments[0]} failed:\n{done.stderr[-2000:]}")


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
