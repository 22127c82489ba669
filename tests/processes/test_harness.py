"""The harness itself: if these hold, a failing process test speaks of the product."""

import threading

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import OperationalError, connection

from dev import amqp_probe
from dev.free_ports import LOOPBACK
from dev.rabbitmq import RabbitNode
from tests.eventually import eventually, never
from tests.postgres_cluster import OwnPostgres
from tests.processes.harness import Run
from tests.wire import Wire

PRINT_USERS = """
from django.contrib.auth import get_user_model
print(*get_user_model().objects.values_list("username", flat=True))
"""
MAKE_GROUPS = """
from django.contrib.auth.models import Group
for name in ("first", "second", "third"):
    Group.objects.create(name=name)
"""
SAVE = "django.contrib.auth.models:Group.save"


def test_a_command_sees_what_the_test_has_written(run: Run) -> None:
    get_user_model().objects.create_user("known-to-both")

    seen = run.manage("shell", "-v0", "-c", PRINT_USERS)

    assert seen.stdout.split() == ["known-to-both"], seen.stderr


def test_a_thread_of_the_test_works_on_the_database_of_the_commands(run: Run) -> None:
    def create() -> None:
        get_user_model().objects.create_user("from-a-thread")
        connection.close()

    thread = threading.Thread(target=create)
    thread.start()
    thread.join()

    assert get_user_model().objects.filter(username="from-a-thread").exists()


@pytest.mark.any_database
@pytest.mark.parametrize(("when", "left"), [("before", 1), ("after", 2)])
def test_a_command_dies_at_the_named_call(run: Run, when: str, left: int) -> None:
    before = Group.objects.count()

    command = run.killed_at(SAVE, "shell", "-v0", "-c", MAKE_GROUPS, when=when, nth=2)

    assert command.wait() == -9, command.report()
    assert Group.objects.count() - before == left


@pytest.mark.any_database
def test_a_command_that_never_gets_there_is_not_killed(run: Run) -> None:
    command = run.killed_at(SAVE, "shell", "-v0", "-c", MAKE_GROUPS, when="before", nth=9)

    assert command.wait() == 0, command.report()


@pytest.mark.any_database
def test_waiting_for_a_text_fails_when_the_command_has_ended(run: Run) -> None:
    command = run("check")

    with pytest.raises(AssertionError, match="ended"):
        command.wait_for("a line that no check prints")


def test_a_message_comes_back_from_the_shared_node_as_it_was_sent(
    wire: Wire, namespace: str
) -> None:
    queue = f"{namespace}.catalog"
    wire.channel.queue_declare(queue, durable=True)

    wire.publish(b"\xff body", routing_key=queue, headers={"attempt": 2}, message_id="m")

    assert wire.ready(queue) == 1
    received = wire.get(queue)
    assert received is not None
    assert (received.body, received.headers) == (b"\xff body", {"attempt": 2})
    assert wire.get(queue) is None


def test_messages_survive_the_kill_of_an_own_node(own_broker: RabbitNode, namespace: str) -> None:
    wire = Wire(own_broker.amqp_url)
    wire.channel.queue_declare(namespace, durable=True)
    wire.publish(b"{}", routing_key=namespace)

    own_broker.kill()
    down = amqp_probe.speaks_amqp(LOOPBACK, own_broker.amqp_port)
    own_broker.start()

    wire.close()
    assert not down
    assert wire.ready(namespace) == 1
    wire.delete_queue(namespace)
    wire.close()


def test_a_paused_node_answers_again_after_resume(own_broker: RabbitNode) -> None:
    own_broker.pause()
    answered = amqp_probe.speaks_amqp(LOOPBACK, own_broker.amqp_port, timeout_seconds=0.3)

    own_broker.resume()

    assert not answered
    assert amqp_probe.speaks_amqp(LOOPBACK, own_broker.amqp_port)


@pytest.mark.any_database
def test_commands_and_orm_move_to_a_cluster_that_can_be_killed(
    run: Run, own_postgres: OwnPostgres
) -> None:
    run.use_database(own_postgres.create_database())
    get_user_model().objects.create_user("before-the-kill")

    own_postgres.kill()
    connection.close()
    with pytest.raises(OperationalError):
        get_user_model().objects.count()
    connection.close()
    own_postgres.start()

    assert run.manage("shell", "-v0", "-c", PRINT_USERS).stdout.split() == ["before-the-kill"]
    assert get_user_model().objects.count() == 1


def test_eventually_gives_the_first_truthy_result() -> None:
    results = iter([0, "", "there"])

    assert eventually(lambda: next(results), 5) == "there"


def test_eventually_shows_the_last_failure() -> None:
    def refuse() -> bool:
        raise AssertionError("still 3 rows")

    with pytest.raises(AssertionError, match="still 3 rows"):
        eventually(refuse, 0.05)


def test_never_fails_at_once_when_it_happens() -> None:
    with pytest.raises(AssertionError, match="was met"):
        never(lambda: True, 60)
