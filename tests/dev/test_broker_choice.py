"""Which broker `make up` takes: the order of the ways, with the outside world played."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dev import broker_choice
from dev.amqp_probe import Answer
from dev.broker_choice import Broker, NoBroker, Ways, choose
from dev.packages import InstallFailed
from messaging.broker.address import BrokerAddress

pytestmark = pytest.mark.any_database

URL = "amqp://somebody:SECRETPW@broker.example:5999/%2F"


@dataclass
class Played:
    """A broker that only remembers whether it runs."""

    amqp_url: str
    runs: bool = False

    def start(self) -> None:
        self.runs = True

    def stop(self) -> None:
        self.runs = False

    def is_running(self) -> bool:
        return self.runs


@dataclass
class World:
    """A machine: what is installed there, and who answers."""

    answer: Answer = Answer.SILENT
    installed: bool = False
    docker: bool = False
    root_on_debian: bool = False
    install_works: bool = True
    done: list[str] = field(default_factory=list)

    def ways(self) -> Ways:
        return Ways(
            ask=self._ask,
            is_installed=lambda: self.installed,
            private_node=self._broker("amqp://private"),
            engine_answers=self._engine_answers,
            docker_broker=self._broker("amqp://docker"),
            can_install=lambda: self.root_on_debian,
            install=self._install,
        )

    def _ask(self, address: BrokerAddress) -> Answer:
        self.done.append("asked")
        return self.answer

    def _engine_answers(self) -> bool:
        self.done.append("docker asked")
        return self.docker

    def _broker(self, url: str) -> Callable[[], Broker]:
        def make() -> Broker:
            self.done.append(url)
            return Played(url)

        return make

    def _install(self) -> None:
        self.done.append("installed")
        if not self.install_works:
            raise InstallFailed("apt-get could not")
        self.installed = True


def test_a_broker_that_answers_at_amqp_url_is_taken_and_not_ours_to_stop() -> None:
    world = World(answer=Answer.WELCOME, installed=True, docker=True)

    chosen = choose(URL, given=True, ways=world.ways())

    assert (chosen.amqp_url, chosen.own) == (URL, None)
    assert world.done == ["asked"]


def test_an_installed_rabbitmq_is_started_privately_where_nobody_answers() -> None:
    world = World(installed=True, docker=True)

    chosen = choose(URL, given=False, ways=world.ways())

    assert chosen.amqp_url == "amqp://private"
    assert chosen.own is not None
    assert chosen.own.is_running()
    assert "docker asked" not in world.done


def test_docker_is_used_where_rabbitmq_is_not_installed() -> None:
    world = World(docker=True, root_on_debian=True)

    chosen = choose(URL, given=False, ways=world.ways())

    assert chosen.amqp_url == "amqp://docker"
    assert "installed" not in world.done


def test_rabbitmq_is_installed_as_root_on_debian_when_nothing_else_is_there() -> None:
    world = World(root_on_debian=True)

    chosen = choose(URL, given=False, ways=world.ways())

    assert chosen.amqp_url == "amqp://private"
    assert world.done == ["asked", "docker asked", "installed", "amqp://private"]


@pytest.mark.parametrize(
    "world",
    [World(), World(root_on_debian=True, install_works=False)],
    ids=["nothing there", "apt-get fails"],
)
def test_the_three_ways_are_told_where_none_is_open(world: World) -> None:
    with pytest.raises(NoBroker) as told:
        choose(URL, given=False, ways=world.ways())

    for way in ("apt-get install rabbitmq-server", "Docker", "AMQP_URL="):
        assert way in str(told.value)


def test_a_broker_that_was_asked_for_and_refuses_us_is_not_passed_over() -> None:
    world = World(answer=Answer.REFUSED, installed=True)

    with pytest.raises(NoBroker, match="refuses") as told:
        choose(URL, given=True, ways=world.ways())

    assert "SECRETPW" not in str(told.value)
    assert world.done == ["asked"]


def test_a_strangers_broker_on_the_default_port_is_passed_over() -> None:
    world = World(answer=Answer.REFUSED, installed=True)

    chosen = choose(URL, given=False, ways=world.ways())

    assert chosen.amqp_url == "amqp://private"


def test_it_is_said_when_the_broker_that_was_asked_for_does_not_answer() -> None:
    world = World(installed=True)

    chosen = choose(URL, given=True, ways=world.ways())

    assert "broker.example:5999" in chosen.why
    assert "SECRETPW" not in chosen.why


def test_the_real_ways_are_those_of_this_machine(tmp_path: Path) -> None:
    ways = broker_choice.real_ways(tmp_path)

    assert ways.ask(BrokerAddress.parse("amqp://guest:guest@127.0.0.1:9/")) is Answer.SILENT
