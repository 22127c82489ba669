"""The console beside a broker that is up, down, silent or refusing: quick, and leaving nothing."""

import os
import socket
import time
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dev.rabbitmq import RabbitNode
from messaging.broker.address import BrokerAddress
from messaging.console import broker_look
from tests.eventually import eventually
from tests.messaging import facts
from tests.messaging.console_pages import LIST, QUEUES
from tests.messaging.dead import died
from tests.processes.collecting import bury_event
from tests.processes.harness import Run
from tests.processes.queues import Queues

VIEWS = 40

pytestmark = pytest.mark.any_database


@pytest.fixture
def operator(run: Run) -> Client:
    user = User.objects.create_superuser("olga")
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each view looks at the broker itself: nothing is kept."""
    monkeypatch.setattr(broker_look, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(broker_look, "FAILURE_SECONDS", 0.0)


def own_sockets() -> int:
    """Open sockets of this process, which serves the pages: a connection left behind is one."""
    names = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    return sum(os.path.exists(name) and "socket:" in os.readlink(name) for name in names)


def test_many_views_leave_no_connection_and_no_message_behind(
    operator: Client, queues: Queues, looks_anew: None
) -> None:
    for revision in range(1, 4):
        bury_event(queues, "catalog", facts.published("article-107", revision))
    died(facts.published("article-108"))
    before = own_sockets()

    for number in range(VIEWS):
        page = operator.get(QUEUES if number % 20 == 0 else LIST)
        assert page.status_code == 200
    assert "3 more are waiting in dead queues" in operator.get(LIST).content.decode()

    assert queues.ready("catalog") == {"dead": 3}
    eventually(lambda: own_sockets() <= before)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        yield listener.getsockname()[1]


def test_a_broker_that_refuses_the_password_is_told_of_without_it(
    operator: Client, queues: Queues, broker: RabbitNode, settings: Settings
) -> None:
    settings.AMQP = BrokerAddress.parse(f"amqp://olga:s3cret-word@127.0.0.1:{broker.amqp_port}/%2F")
    before = own_sockets()

    for _ in range(VIEWS):
        text = operator.get(LIST).content.decode()
        assert "cannot be told now" in text
        assert "s3cret-word" not in text

    eventually(lambda: own_sockets() <= before)


def test_with_the_broker_down_the_views_are_quick(operator: Client, settings: Settings) -> None:
    settings.AMQP = BrokerAddress.parse("amqp://olga:s3cret-word@127.0.0.1:9/%2F")
    died(facts.published())
    before, begun = own_sockets(), time.monotonic()

    for _ in range(VIEWS):
        page = operator.get(LIST)
        assert page.status_code == 200
    text = operator.get(QUEUES).content.decode()

    assert (time.monotonic() - begun) / VIEWS < 1.0
    eventually(lambda: own_sockets() <= before)
    assert "Start the broker, or mend AMQP_URL" in text
    assert "s3cret-word" not in text


def test_a_silent_broker_costs_one_view_its_two_seconds_and_the_next_none(
    operator: Client, settings: Settings, silent_port: int
) -> None:
    settings.AMQP = BrokerAddress.parse(f"amqp://olga:s3cret-word@127.0.0.1:{silent_port}/%2F")

    begun = time.monotonic()
    found = broker_look.look()
    first = time.monotonic() - begun
    begun = time.monotonic()
    broker_look.look()
    second = time.monotonic() - begun
    text = operator.get(LIST).content.decode()

    assert first < 2.5
    assert second < 0.1
    assert found.problem
    assert "cannot be told now" in text
    assert "s3cret-word" not in text


def test_a_requeue_while_the_broker_is_down_is_kept_for_the_relay(
    operator: Client, settings: Settings
) -> None:
    settings.AMQP = BrokerAddress.parse("amqp://olga:s3cret-word@127.0.0.1:9/%2F")
    letter = died(facts.published())

    answer = operator.post(f"{LIST}requeue/?ids={letter.pk}&from=letter")

    assert answer.status_code == 302
    letter.refresh_from_db()
    assert letter.state == "requeued"
    assert "waits in the outbox for the relay" in operator.get(answer["Location"]).content.decode()
