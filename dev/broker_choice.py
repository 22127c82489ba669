"""Which broker `make up` works with: the first of four ways that is open (see choose)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dev import amqp_probe, packages
from dev.amqp_probe import Answer
from dev.docker_broker import DockerBroker, engine_answers
from dev.rabbitmq import RabbitNode, find_scripts
from messaging.broker.address import BrokerAddress
from messaging.errors import ConfigurationError

PACKAGE = "rabbitmq-server"

THREE_WAYS = """\
There is no RabbitMQ to work with. Three ways to get one:
  1. install it:      Debian, Ubuntu: sudo apt-get install rabbitmq-server
                      macOS: brew install rabbitmq
                      (`make up` starts a private node of it; the system's own may stay off)
  2. use Docker:      start an engine with Docker Compose; `make up` does the rest
  3. use another one: AMQP_URL=amqp://user:password@host:5672/vhost make up"""


class NoBroker(Exception):
    """No way is open, or the broker that was asked for refuses us; the text says what to do."""


class Broker(Protocol):
    """A broker that runs. `stop` ends it if we started it."""

    @property
    def amqp_url(self) -> str: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def is_running(self) -> bool: ...


@dataclass(frozen=True)
class Chosen:
    """`own` is the broker that we started, None where one was there already."""

    amqp_url: str
    why: str
    own: Broker | None = None


@dataclass(frozen=True)
class Ways:
    """The four ways, as the outside world answers. Tests put others in their place."""

    ask: Callable[[BrokerAddress], Answer]
    is_installed: Callable[[], bool]
    private_node: Callable[[], Broker]
    engine_answers: Callable[[], bool]
    docker_broker: Callable[[], Broker]
    can_install: Callable[[], bool]
    install: Callable[[], None]


def choose(url: str, *, given: bool, ways: Ways) -> Chosen:
    """The broker at AMQP_URL if it answers; else a private node of an installed RabbitMQ; else
    Docker Compose; else install RabbitMQ and take a private node of that.

    `given`: somebody set AMQP_URL. A broker there that refuses us is then a mistake to mend,
    and not passed over. Raises NoBroker; the broker that is returned runs.
    """
    address = BrokerAddress.parse(url)
    answer = ways.ask(address)
    if answer is Answer.WELCOME:
        return Chosen(url, f"the one that answers at {address.described}")
    if answer is Answer.REFUSED and given:
        raise NoBroker(
            f"The broker at {address.described} refuses the user or the virtual host of AMQP_URL."
        )
    instead = f"AMQP_URL ({address.described}) does not answer: " if given else ""
    if ways.is_installed():
        return _start(ways.private_node(), f"{instead}a private node, this checkout's own")
    if ways.engine_answers():
        return _start(ways.docker_broker(), f"{instead}RabbitMQ in Docker Compose")
    if not ways.can_install():
        raise NoBroker(THREE_WAYS)
    try:
        ways.install()
    except packages.InstallFailed as error:
        raise NoBroker(f"{error}\n\n{THREE_WAYS}") from error
    if not ways.is_installed():
        raise NoBroker(THREE_WAYS)
    return _start(ways.private_node(), f"{instead}a private node, this checkout's own")


def real_ways(folder: Path) -> Ways:
    """The ways of this machine; a private node lives in that folder."""
    return Ways(
        ask=_ask,
        is_installed=lambda: find_scripts() is not None,
        private_node=lambda: RabbitNode(folder),
        engine_answers=engine_answers,
        docker_broker=DockerBroker,
        can_install=packages.can_install,
        install=lambda: packages.install(
            PACKAGE, purpose="the project runs a private node of it, on the loopback interface."
        ),
    )


def _start(broker: Broker, why: str) -> Chosen:
    broker.start()
    return Chosen(broker.amqp_url, why, own=broker)


def _ask(address: BrokerAddress) -> Answer:
    try:
        tls = address.tls_context()
    except ConfigurationError:
        return Answer.REFUSED
    return amqp_probe.log_in(
        address.host,
        address.port,
        user=address.user,
        password=address.password,
        vhost=address.vhost,
        tls=tls,
        server_name=address.server_name,
    )
