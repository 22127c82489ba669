"""The broker goes, comes back, freezes, or refuses: what a consumer waits for, and what ends it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dev.rabbitmq import RabbitNode
from materials.audit.models import AuditRecord
from messaging.models import InboxReceipt
from tests.eventually import eventually
from tests.messaging.facts import published
from tests.processes.command import Command
from tests.processes.harness import Run
from tests.processes.queues import Queues

pytestmark = pytest.mark.any_database

MISCONFIGURED = 3


def recorded() -> int:
    return AuditRecord.objects.count()


@pytest.mark.parametrize("how", ["killed", "stopped in good order"])
def test_a_consumer_goes_on_by_itself_after_a_broker_that_went_during_its_work(
    own_broker: RabbitNode, run: Run, queues: Queues, how: str
) -> None:
    events = [published(revision=revision) for revision in range(1, 41)]
    queues.publish(*events)
    consumer = run.with_handler("sleeping:0.3", "consume", "audit", "--prefetch", "10")
    consumer.wait_for("at work on")

    if how == "killed":
        own_broker.kill()
        consumer.wait_for("broker away")
        own_broker.start()
    else:
        own_broker.ctl("stop_app")
        consumer.wait_for("broker away")
        own_broker.ctl("start_app")

    eventually(lambda: recorded() == 40)
    assert consumer.returncode is None, consumer.report()
    queues.wire.close()
    queues.await_ready("audit")
    eventually(lambda: queues.subscribers("audit") == 1)
    assert InboxReceipt.objects.filter(consumer="audit").count() == 40
    assert not [record for record in consumer.log if record.get("outcome") in ("retried", "dead")]
    assert "Traceback" not in consumer.stderr
    assert consumer.terminate() == 0


def test_without_a_broker_a_consumer_waits_and_stops_when_asked(run: Run) -> None:
    consumer = run("consume", "audit", AMQP_URL="amqp://guest:S3CRETpw@127.0.0.1:9/%2F")

    line = consumer.wait_for("broker away")

    assert "refused" in line.lower()
    assert "S3CRETpw" not in consumer.stderr
    assert consumer.returncode is None
    assert consumer.terminate() == 0


def test_a_frozen_broker_is_noticed_by_its_silence_and_a_thawed_one_is_used_again(
    own_broker: RabbitNode, run: Run, queues: Queues
) -> None:
    run.environment["AMQP_URL"] += "?heartbeat=1"
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")

    own_broker.pause()
    try:
        consumer.wait_for("broker away")
    finally:
        own_broker.resume()

    queues.wire.close()
    queues.publish(published())
    eventually(lambda: recorded() == 1)
    assert consumer.terminate() == 0


def test_with_a_frozen_broker_a_consumer_stops_within_five_seconds(
    own_broker: RabbitNode, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")

    own_broker.pause()
    try:
        assert consumer.terminate() == 0, consumer.report()
    finally:
        own_broker.resume()


def test_with_a_blocked_broker_a_consumer_waits_for_its_copy_and_stops_when_asked(
    own_broker: RabbitNode, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")
    queues.give("audit", b"one that goes to dead")
    queues.await_ready("audit", dead=1)
    queues.publish(published())
    eventually(lambda: recorded() == 1)

    queues.give("audit", b"another")
    own_broker.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
    try:
        assert consumer.terminate() == 0, consumer.report()
    finally:
        own_broker.ctl("set_vm_memory_high_watermark", "0.4")
    queues.wire.close()
    eventually(lambda: sum(queues.ready("audit").values()) >= 2)


def test_after_a_lost_connection_old_tags_are_never_used(
    own_broker: RabbitNode, run: Run, queues: Queues, tmp_path: Path
) -> None:
    lost = tmp_path / "lost"
    queues.publish(*[published(revision=revision) for revision in range(1, 13)])
    consumer = run.with_handler(f"waiting:{lost}", "consume", "audit", "--prefetch", "6")
    consumer.wait_for("at work on")

    own_broker.ctl("close_all_connections", "--vhost", "/", "the test says so")
    lost.touch()

    queues.wire.close()
    eventually(lambda: recorded() == 12)
    queues.await_ready("audit")
    assert "PRECONDITION_FAILED" not in consumer.stderr + own_broker.log_tail()
    assert "broker away" in consumer.stderr
    duplicates = sum(InboxReceipt.objects.values_list("duplicates", flat=True))
    assert duplicates >= 1, "what was committed without an ack came again"
    assert not [record for record in consumer.log if record.get("outcome") in ("retried", "dead")]
    assert consumer.terminate() == 0


def test_a_queue_deleted_under_a_consumer_ends_it_with_3_and_is_not_made_again(
    run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    eventually(lambda: queues.subscribers("audit") == 1)

    queues.wire.delete_queue(queues.topology.main("audit"))

    assert consumer.wait() == MISCONFIGURED
    assert_one_clear_line(consumer, queues.topology.main("audit"), "deleted")
    assert not queues.wire.exists(queues.topology.main("audit"))


@pytest.mark.parametrize("suffix", ["", ".retry", ".dead"])
def test_a_queue_declared_otherwise_ends_it_with_3_and_both_sides_are_told(
    run: Run, queues: Queues, suffix: str
) -> None:
    name = queues.topology.main("audit") + suffix
    step = queues.queue_steps()[name]
    queues.wire.delete_queue(name)
    queues.declare_step(replace(step, arguments={**step.arguments, "x-message-ttl": 77_777}))

    consumer = run("consume", "audit")

    assert consumer.wait() == MISCONFIGURED
    assert_one_clear_line(consumer, name, "x-message-ttl", "77777", "PRECONDITION_FAILED")


@pytest.fixture
def limited_user(own_broker: RabbitNode) -> Iterator[Callable[[str, str, str], str]]:
    """Gives the URL of a user with these rights to configure, write and read."""
    own_broker.ctl("add_user", "limited", "S3CRETpw")

    def permit(configure: str, write: str, read: str) -> str:
        own_broker.ctl("set_permissions", "limited", configure, write, read)
        return f"amqp://limited:S3CRETpw@127.0.0.1:{own_broker.amqp_port}/%2F"

    yield permit
    own_broker.ctl("delete_user", "limited")


@pytest.mark.parametrize(
    ("rights", "word"),
    [
        (("^$", ".*", ".*"), "ACCESS_REFUSED"),
        ((".*", ".*", "^$"), "ACCESS_REFUSED"),
    ],
    ids=["configure", "read"],
)
def test_a_missing_right_ends_it_with_3_and_is_named(
    own_broker: RabbitNode,
    run: Run,
    queues: Queues,
    limited_user: Callable[[str, str, str], str],
    rights: tuple[str, str, str],
    word: str,
) -> None:
    consumer = run("consume", "audit", AMQP_URL=limited_user(*rights))

    assert consumer.wait() == MISCONFIGURED
    assert_one_clear_line(consumer, word)
    assert "S3CRETpw" not in consumer.stderr


def test_a_missing_right_to_write_copies_ends_it_with_3_and_nothing_is_lost(
    own_broker: RabbitNode,
    run: Run,
    queues: Queues,
    limited_user: Callable[[str, str, str], str],
) -> None:
    url = limited_user(".*", rf"^{re.escape(queues.topology.namespace)}\..*$", ".*")
    queues.give("audit", b"not an event")

    consumer = run("consume", "audit", AMQP_URL=url)

    assert consumer.wait() == MISCONFIGURED
    assert_one_clear_line(consumer, "ACCESS_REFUSED")
    queues.await_ready("audit", main=1)


def test_a_wrong_password_ends_it_with_3(run: Run, queues: Queues) -> None:
    wrong = run.environment["AMQP_URL"].replace(":guest@", ":S3CRETpw@")

    consumer = run("consume", "audit", AMQP_URL=wrong)

    assert consumer.wait() == MISCONFIGURED
    assert_one_clear_line(consumer, "ACCESS_REFUSED")
    assert "S3CRETpw" not in consumer.stderr


def assert_one_clear_line(consumer: Command, *words: str) -> None:
    last = consumer.stderr.splitlines()[-1]
    assert last.startswith("CommandError: "), consumer.report()
    assert [word for word in words if word not in last] == [], last
    assert "Traceback" not in consumer.stderr
