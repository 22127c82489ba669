"""Fixture `run`: the project's real commands, on a database that is committed and the test's own.

The ORM of the test process works on the same database, so a test writes and reads with it as
usual; no `django_db` mark (that is the other database, inside a transaction).
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal

import pytest
from pytest_django import DjangoDbBlocker, Settings

from dev.rabbitmq import RabbitNode
from tests.processes.command import Command, manage, run_to_end
from tests.processes.database import (
    database_of_run,
    drop_database,
    environment_for,
    fresh_database,
    migrate,
    orm_on,
)

RETRY_DELAY_MS = 300


class Run:
    """Starts commands; `run("consume", "catalog")` is short for `run.start(…)`."""

    def __init__(self, *, stack: ExitStack, settings: Settings) -> None:
        self.environment: dict[str, str] = {}
        self.commands: list[Command] = []
        self._stack = stack
        self._settings = settings

    def __call__(self, *arguments: str, **settings: str) -> Command:
        return self.start(*arguments, **settings)

    def start(self, *arguments: str, **settings: str) -> Command:
        """Start a command and return at once. `settings` are further variables."""
        return self._spawn(manage(*arguments), settings)

    def manage(
        self, *arguments: str, timeout_seconds: float = 60, stdin: str = "", **settings: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end. Its exit code is not judged."""
        return run_to_end(
            manage(*arguments),
            environment=self._environment(settings),
            stdin=stdin,
            timeout_seconds=timeout_seconds,
        )

    def killed_at(
        self,
        function: str,
        *arguments: str,
        when: Literal["before", "after"],
        nth: int = 1,
        **settings: str,
    ) -> Command:
        """Start a command that dies by SIGKILL right before, or after, that call of a function.

        `function` is `package.module:name` or `package.module:Class.name`. The command's own
        code knows nothing of it; `.wait()` then gives -9.
        """
        return self._spawn_module("killed_at", [function, when, str(nth), *arguments], settings)

    def held_at(self, function: str, *arguments: str, **settings: str) -> Command:
        """Start a command whose first call of that function takes very long; it says `held`."""
        return self._spawn_module("killed_at", [function, "never", "1", *arguments], settings)

    def with_handler(self, handler: str, *arguments: str, **settings: str) -> Command:
        """Start a `consume` command around one of `tests.processes.handlers`: `sleeping:2`."""
        return self._spawn_module("handlers", [handler, *arguments], settings)

    def use_database(self, url: str, *, migrated: bool = False) -> None:
        """From here on commands and the ORM work on that database; migrated first, unless it is."""
        if not migrated:
            migrate(url)
        self._work_on(url)

    def use_broker(self, node: RabbitNode) -> None:
        """From here on commands work with that node (`own_broker`)."""
        self.environment["AMQP_URL"] = node.amqp_url
        self.environment["DELIVERY_NAMESPACE"] = self._settings.DELIVERY_NAMESPACE

    def _work_on(self, url: str) -> None:
        self._stack.enter_context(orm_on(url))
        self.environment["DATABASE_URL"] = url

    def _spawn_module(self, name: str, arguments: list[str], settings: dict[str, str]) -> Command:
        command = manage(f"tests.processes.{name}", *arguments)
        command[1:2] = ["-m"]
        return self._spawn(command, settings)

    def _spawn(self, command: list[str], settings: dict[str, str]) -> Command:
        started = Command(command, environment=self._environment(settings))
        self.commands.append(started)
        return started

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        return environment_for(url=self.environment["DATABASE_URL"]) | (self.environment | settings)


@pytest.fixture
def run(
    request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker, settings: Settings
) -> Iterator[Run]:
    """The commands, on a fresh migrated database and, unless `own_broker` is asked for, on the
    shared node, in the namespace of the test."""
    if {"db", "transactional_db"} & set(request.fixturenames):
        pytest.fail("`run` brings its own database: leave the django_db mark out", pytrace=False)
    run_url = database_of_run()
    with ExitStack() as stack:
        url = fresh_database(run_url)
        stack.callback(drop_database, url, run_url=run_url)
        stack.enter_context(django_db_blocker.unblock())
        runner = Run(stack=stack, settings=settings)
        _choose_broker(runner, request)
        runner._work_on(url)
        runner.environment.update(
            DELIVERY_RETRY_DELAY_MS=str(RETRY_DELAY_MS), LOG_FORMAT="json", LOG_LEVEL="INFO"
        )
        yield runner
        for command in runner.commands:
            command.kill()
            print(command.report())


def _choose_broker(runner: Run, request: pytest.FixtureRequest) -> None:
    if "own_broker" in request.fixturenames:
        runner.use_broker(request.getfixturevalue("own_broker"))
    else:
        request.getfixturevalue("namespace")
        runner.use_broker(request.getfixturevalue("broker"))
