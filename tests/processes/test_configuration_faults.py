"""What waiting cannot mend: exit 3 and one clear line that names the object and no secret."""

import os
import re
from collections.abc import Iterator

import pytest

from dev.free_ports import free_port
from dev.rabbitmq import RabbitNode
from messaging.models import OutboxMessage
from tests.processes.command import Command
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import record_facts, states

pytestmark = pytest.mark.any_database

PASSWORD = "SECRETPW"


@pytest.fixture
def chatty(run: Run) -> Iterator[Run]:
    """Commands log all they can; nothing of what they write holds the password."""
    run.environment["LOG_LEVEL"] = "DEBUG"
    yield run
    said = [command.stdout + command.stderr for command in run.commands]
    assert said
    assert not [text for text in said if PASSWORD in text]


@pytest.fixture
def user(broker: RabbitNode) -> Iterator[str]:
    name = f"u-{os.urandom(4).hex()}"
    broker.ctl("add_user", name, PASSWORD)
    yield name
    broker.ctl("delete_user", name)


def url(broker: RabbitNode, *, user: str, vhost: str = "%2F", port: int | None = None) -> str:
    return f"amqp://{user}:{PASSWORD}@127.0.0.1:{port or broker.amqp_port}/{vhost}"


def fault(command: Command) -> str:
    """The one line with which it ended, exit 3."""
    assert command.wait() == 3, command.report()
    assert "Traceback" not in command.stderr
    (line,) = re.findall(r"^CommandError: (.*)$", command.stderr, re.MULTILINE)
    assert command.stderr.endswith(f"{line}\n")
    return str(line)


def test_an_object_declared_otherwise_is_named_with_its_argument(
    chatty: Run, broker: RabbitNode, queues: Queues
) -> None:
    retry = queues.topology.retry("catalog")

    commands = [
        chatty(*arguments, DELIVERY_RETRY_DELAY_MS="777")
        for arguments in (["declare_topology"], ["relay_outbox", "-v", "3"])
    ]

    for line in map(fault, commands):
        assert line.startswith(f"queue {queues.topology.retry('audit')} wants durable=True")
        assert "x-message-ttl=777" in line
        assert "406 PRECONDITION_FAILED" in line
        assert "current is '300'" in line
    checked = chatty("declare_topology", "--check", DELIVERY_RETRY_DELAY_MS="777")
    assert checked.wait() == 1
    assert f"queue {retry}: 406 PRECONDITION_FAILED" in checked.stdout


def test_a_password_or_virtual_host_that_the_broker_does_not_know(
    chatty: Run, broker: RabbitNode, queues: Queues
) -> None:
    wrong = url(broker, user="guest")
    nowhere = f"{chatty.environment['AMQP_URL'].removesuffix('%2F')}no-such-vhost"

    refused = chatty("relay_outbox", "-v", "3", AMQP_URL=wrong)
    lost = chatty("relay_outbox", AMQP_URL=nowhere)

    assert "said 403 ACCESS_REFUSED" in fault(refused)
    assert "said 530 NOT_ALLOWED" in fault(lost)
    assert "no-such-vhost" in fault(lost)


def test_a_right_that_the_user_lacks_is_named_with_the_object(
    chatty: Run, broker: RabbitNode, queues: Queues, user: str
) -> None:
    events = queues.topology.events
    rows = record_facts(3)
    address = url(broker, user=user)

    broker.ctl("set_permissions", user, "^$", ".*", ".*")
    may_not_declare = [
        fault(chatty(*arguments, AMQP_URL=address))
        for arguments in (["declare_topology"], ["declare_topology", "--check"])
    ]
    broker.ctl("set_permissions", user, ".*", rf"^(?!{re.escape(events)}$)", ".*")
    may_not_publish = fault(chatty("relay_outbox", AMQP_URL=address))

    for line in may_not_declare:
        assert f"exchange {events}" in line
        assert "403 ACCESS_REFUSED" in line
    assert "403 ACCESS_REFUSED" in may_not_publish
    assert f"'{events}'" in may_not_publish
    assert set(states(rows)) == {"pending"}
    assert set(OutboxMessage.objects.values_list("attempts", flat=True)) == {0}


def test_a_broker_that_cannot_be_reached_is_waited_for_without_a_secret(
    chatty: Run, broker: RabbitNode, queues: Queues
) -> None:
    refused = chatty("relay_outbox", AMQP_URL=url(broker, user="guest", port=free_port()))
    unresolvable = chatty(
        "relay_outbox", "-v", "3", AMQP_URL=f"amqp://guest:{PASSWORD}@no-such-host.invalid/%2F"
    )

    assert "Connection refused" in refused.wait_for("broker away")
    assert "amqp://no-such-host.invalid:5672/%2F" in unresolvable.wait_for("broker away")
    assert [refused.terminate(), unresolvable.terminate()] == [0, 0]
