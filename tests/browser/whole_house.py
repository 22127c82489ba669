"""The whole house at work for a module of tests: every process of the site, and its people.

Real processes on a fresh database of the run and on a node that may be stopped. Tests share it,
so each works on materials of its own and leaves every process running.
"""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from pytest_django import DjangoDbBlocker

from dev.free_ports import LOOPBACK
from dev.rabbitmq import RabbitNode
from messaging.operating import pauses
from messaging.operating.decision_log import Operator
from tests.catalogsite.server import serving
from tests.processes.command import Command, manage
from tests.processes.database import (
    database_of_run,
    drop_database,
    environment_for,
    fresh_database,
    orm_on,
)

PASSWORD = "a password of one house"
PEOPLE = {"ada": "Editors", "grace": "Editors", "edgar": "Authors", "olga": "Operators"}

# This material fails in the catalog for a time, three times and then for good.
STUBBORN = "stubborn"
# Long enough for an open page to show each attempt.
RETRY_DELAY_MS = 2500

_COMMANDS = {
    "relay": ("relay_outbox",),
    "catalog": ("consume", "catalog"),
    "audit": ("consume", "audit"),
    "schedule": ("run_schedule",),
    "letters": ("collect_dead_letters",),
}


class WholeHouse:
    """Its address, its broker, and its processes by the names that the Procfile gives them."""

    def __init__(self, address: str, broker: RabbitNode, environment: dict[str, str]) -> None:
        self.address = address
        self._broker = broker
        self._environment = environment
        self._commands: dict[str, Command] = {}

    def start(self, name: str) -> None:
        environment = self._environment
        if name == "catalog":
            environment = environment | {"SIMULATE_TEMPORARY": STUBBORN}
        self._commands[name] = Command(manage(*_COMMANDS[name]), environment=environment)

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """That process is stopped, in good order, until the block ends."""
        self._commands[name].terminate(within_seconds=20)
        try:
            yield
        finally:
            self.start(name)

    @contextmanager
    def without_broker(self) -> Iterator[None]:
        """Whoever missed it starts anew afterwards, instead of being out of breath for long."""
        self._broker.kill()
        try:
            yield
        finally:
            self._broker.start()
            for name, command in self._commands.items():
                command.kill()
                self.start(name)

    @contextmanager
    def paused(self, name: str, *, reason: str) -> Iterator[None]:
        """An operator has paused that consumer, and it has obeyed, until the block ends."""
        olga = Operator("olga")
        pauses.pause(name, operator=olga, reason=reason)
        try:
            self._commands[name].wait_for('"event": "paused"')
            yield
        finally:
            pauses.resume(name, operator=olga)

    def close(self) -> None:
        for command in self._commands.values():
            command.kill()
            print(command.report())


@contextmanager
def at_work(folder: Path, broker: RabbitNode, url: str) -> Iterator[WholeHouse]:
    """Every process is up until the block ends; who is out of breath is waited for by the tests."""
    settings = {
        "AMQP_URL": broker.amqp_url,
        "DATABASE_URL": url,
        "DELIVERY_NAMESPACE": f"t-{uuid.uuid4().hex[:12]}",
        "DELIVERY_RETRY_DELAY_MS": str(RETRY_DELAY_MS),
        "LOG_FORMAT": "json",
    }
    with serving(folder, **settings) as server:
        address = f"http://{LOOPBACK}:{server.port}"
        house = WholeHouse(address, broker, environment_for(url, **settings))
        try:
            for name in _COMMANDS:
                house.start(name)
            yield house
        finally:
            house.close()


@pytest.fixture(scope="module")
def house(
    _own_node: RabbitNode,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[WholeHouse]:
    """One house for the module; the ORM of the tests works on its database, too."""
    run_url = database_of_run()
    with ExitStack() as stack:
        # Playwright keeps an event loop in this thread, near which Django refuses its ORM.
        stack.enter_context(pytest.MonkeyPatch.context()).setenv(
            "DJANGO_ALLOW_ASYNC_UNSAFE", "true"
        )
        url = fresh_database(run_url)
        stack.callback(drop_database, url, run_url=run_url)
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(orm_on(url))
        _move_in()
        if not _own_node.is_running():
            _own_node.start()
        yield stack.enter_context(at_work(tmp_path_factory.mktemp("house"), _own_node, url))


def _move_in() -> None:
    for name, group in PEOPLE.items():
        user = User(username=name, is_staff=group == "Operators")
        # Gunicorn's own hasher, and quick.
        user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
        user.save()
        user.groups.add(Group.objects.get(name=group))
