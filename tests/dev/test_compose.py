"""docker-compose.yml: valid by the Compose schema, and every command in it does what it says.

There is no Docker engine in the tests: what the file would run in containers runs here, with
the file's own commands, health checks and variables, against a private broker and PostgreSQL.
"""

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from dev.free_ports import LOOPBACK, free_port
from dev.postgres import find_binaries
from dev.rabbitmq import RabbitNode
from tests.catalogsite.started import settings_of
from tests.dev.compose_file import read_compose
from tests.environment import PROJECT, clean_environment
from tests.eventually import eventually
from tests.postgres_cluster import OwnPostgres
from tests.processes.command import Command, run_to_end

pytestmark = pytest.mark.any_database

BIN = Path(sys.executable).parent
APP_SERVICES = ("web", "relay", "catalog", "audit", "batches", "letters", "schedule")


class Compose:
    """The services of the file, run here: host names and ports lead to the private servers."""

    def __init__(self, *, broker: RabbitNode, namespace: str, database_url: str) -> None:
        self.web_port = free_port()
        at = urlsplit(database_url)
        self.services: dict[str, dict[str, Any]] = read_compose(
            {
                "POSTGRES_USER": at.username or "",
                "POSTGRES_PASSWORD": at.password or "",
                "POSTGRES_DB": at.path[1:],
                "RABBITMQ_USER": "guest",
                "RABBITMQ_PASSWORD": "guest",
                "DELIVERY_NAMESPACE": namespace,
            }
        )["services"]
        self._hosts = {
            "@postgres:5432": f"@{LOOPBACK}:{at.port}",
            "@rabbitmq:5672": f"@{LOOPBACK}:{broker.amqp_port}",
        }

    def start(self, service: str) -> Command:
        return Command(
            self._command(self.services[service]["command"]),
            environment=self._environment(service),
        )

    def check_health(self, service: str) -> "subprocess.CompletedProcess[str]":
        kind, *command = self.services[service]["healthcheck"]["test"]
        assert kind == "CMD"
        return run_to_end(self._command(command), environment=self._environment(service))

    def _command(self, command: list[str]) -> list[str]:
        program = str(BIN / command[0])
        ports = {"0.0.0.0:8000": f"{LOOPBACK}:{self.web_port}", ":8000/": f":{self.web_port}/"}
        return [program, *(_replaced(word, ports) for word in command[1:])]

    def _environment(self, service: str) -> dict[str, str]:
        settings: dict[str, str] = self.services[service]["environment"]
        return clean_environment() | {
            name: _replaced(value, self._hosts) for name, value in settings.items()
        }


@pytest.fixture
def compose(broker: RabbitNode, namespace: str, own_postgres: OwnPostgres) -> Compose:
    return Compose(broker=broker, namespace=namespace, database_url=own_postgres.create_database())


@pytest.fixture(scope="module")
def schema() -> Validator:
    """The Compose specification's own, as check-jsonschema ships it."""
    folder = resources.files("check_jsonschema.builtin_schemas.vendor")
    document = msgspec.json.decode((folder / "compose-spec.json").read_bytes())
    return validator_for(document)(document)


def test_the_file_is_valid_by_the_compose_schema(schema: Validator) -> None:
    problems = [error.message for error in schema.iter_errors(read_compose({}))]

    assert problems == []


def test_the_schema_sees_a_mistake(schema: Validator) -> None:
    document = read_compose({})
    document["services"]["web"]["comand"] = ["gunicorn"]

    assert not schema.is_valid(document)


def test_what_waits_for_another_waits_until_it_is_well() -> None:
    services = read_compose({})["services"]

    for name, service in services.items():
        for other, wait in service.get("depends_on", {}).items():
            needs_health = wait["condition"] == "service_healthy"
            assert needs_health == ("healthcheck" in services[other]), (name, other)
    assert services["migrate"]["restart"] == "no"
    assert all(services[name]["depends_on"]["migrate"] for name in APP_SERVICES)
    assert all("healthcheck" in services[name] for name in (*APP_SERVICES, "postgres", "rabbitmq"))


# Compose makes these of its own parts.
MADE_HERE = {"DATABASE_URL", "AMQP_URL"}
OUTSIDE = {
    "SECRET_KEY": "k",
    "DEBUG": "true",
    "ALLOWED_HOSTS": "example.org",
    "CSRF_TRUSTED_ORIGINS": "https://example.org",
    "SERVED_OVER_HTTPS": "false",
    "DELIVERY_NAMESPACE": "mine",
    "DELIVERY_QUEUE_TYPE": "quorum",
    "DELIVERY_RETRY_DELAY_MS": "7",
    "LOG_FORMAT": "json",
    "LOG_LEVEL": "DEBUG",
    "SIMULATE_TEMPORARY": "article-107",
    "TIME_ZONE": "Europe/Berlin",
    "LANGUAGE_CODE": "ru",
}


def test_every_setting_can_be_set_from_outside() -> None:
    settings = (PROJECT / "catalogsite" / "settings.py").read_text(encoding="utf-8")
    documented = (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8")
    every = set(re.findall(r'\benv\.\w+\(\s*"(\w+)"', settings))
    assert every == {*MADE_HERE, *OUTSIDE} == set(re.findall(r"(?m)^\| `([A-Z_]+)` \|", documented))

    for name in APP_SERVICES:
        given = read_compose(OUTSIDE)["services"][name]["environment"]
        assert {name: given[name] for name in OUTSIDE} == OUTSIDE


def test_what_is_not_set_outside_has_a_value_that_the_settings_take() -> None:
    given = read_compose({})["services"]["web"]["environment"]

    assert all(given.values())
    settings_of("CSRF_TRUSTED_ORIGINS", project=PROJECT, **given)


def test_all_ports_are_on_the_loopback_interface() -> None:
    services = read_compose({})["services"]

    ports = [port for service in services.values() for port in service.get("ports", [])]

    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_command_runs_and_every_health_check_tells(compose: Compose) -> None:
    assert compose.check_health("batches").returncode != 0, "nothing is migrated yet"
    migrate = compose.start("migrate")
    assert migrate.wait(60) == 0, migrate.report()
    assert compose.check_health("relay").returncode != 0, "nothing is declared yet"
    assert compose.check_health("web").returncode != 0, "nobody serves yet"

    started = {name: compose.start(name) for name in APP_SERVICES}

    try:
        for name, command in started.items():
            eventually(
                lambda name=name: compose.check_health(name).returncode == 0,  # type: ignore[misc]
                60,
                what=f"health of {name}: {command.report()}",
            )
        codes = {name: command.terminate(within_seconds=30) for name, command in started.items()}
        assert codes == dict.fromkeys(APP_SERVICES, 0)
    finally:
        for command in started.values():
            command.kill()


def test_the_health_check_of_postgresql_tells(compose: Compose, own_postgres: OwnPostgres) -> None:
    service = compose.services["postgres"]
    kind, command = service["healthcheck"]["test"]
    assert kind == "CMD-SHELL"

    def check() -> int:
        environment = {"PATH": f"{find_binaries()}:{os.environ['PATH']}"} | service["environment"]
        environment["PGPORT"] = str(own_postgres.port)
        return subprocess.run(["sh", "-c", command], env=environment, check=False).returncode

    while_up = check()
    own_postgres.stop()

    assert while_up == 0
    assert check() != 0


def test_the_health_check_of_rabbitmq_tells(compose: Compose, broker: RabbitNode) -> None:
    kind, program, *arguments = compose.services["rabbitmq"]["healthcheck"]["test"]

    assert (kind, program) == ("CMD", "rabbitmq-diagnostics")
    broker.diagnostics(*arguments)


def test_the_image_holds_what_the_commands_need() -> None:
    dockerfile = (PROJECT / "Dockerfile").read_text()
    ignored = (PROJECT / ".dockerignore").read_text().split()

    assert re.search(r"(?m)^USER (?!root)", dockerfile)
    assert "--only-binary=:all:" in dockerfile
    for needed in ("manage.py", "gunicorn.conf.py", "messaging", "materials", "samples"):
        assert (PROJECT / needed).exists()
        assert needed not in ignored


def _replaced(text: str, pairs: dict[str, str]) -> str:
    for old, new in pairs.items():
        text = text.replace(old, new)
    return text
