"""A relay whose broker or database is away: it waits, says so, and loses nothing."""

import itertools
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection, connections, transaction

from dev.rabbitmq import RabbitNode
from messaging.broker.sessions import topology
from messaging.models import OutboxMessage
from tests.eventually import eventually
from tests.messaging import facts
from tests.postgres_cluster import OwnPostgres
from tests.processes.command import Command
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import (
    all_sent,
    complete_and_in_order,
    free_lease,
    record,
    record_facts,
    record_row,
    relaying,
    states,
)
from tests.wire import Wire


def attempts() -> set[int]:
    return set(OutboxMessage.objects.values_list("attempts", flat=True))


def sent_count() -> int:
    return OutboxMessage.objects.filter(state="sent").count()


@pytest.mark.any_database
def test_commands_wait_for_a_broker_at_the_start_and_in_mid_stream(
    run: Run, own_broker: RabbitNode
) -> None:
    own_broker.kill()
    relay = run("relay_outbox")
    patient = [run("declare_topology"), run("declare_topology", "--check"), run("relay_outbox")]
    for command in [relay, *patient]:
        line = command.wait_for("broker away")
        assert f"no connection to amqp://127.0.0.1:{own_broker.amqp_port}/%2F" in line
        assert "Connection refused" in line
    assert [command.terminate() for command in patient] == [0, 0, 0]
    assert [command.stdout for command in patient] == ["", "", ""]

    own_broker.start()
    relay.wait_for("leading", 60)
    enough = threading.Event()
    publisher = threading.Thread(target=publish_until, args=[enough])
    publisher.start()
    try:
        eventually(lambda: sent_count() > 200)
        own_broker.kill()
        sent_before = sent_count()
        eventually(lambda: OutboxMessage.objects.count() > sent_before + 200)
    finally:
        enough.set()
        publisher.join()
    own_broker.start()
    rows = list(OutboxMessage.objects.order_by("id"))
    eventually(lambda: all_sent(rows), 60)

    wire = Wire(own_broker.amqp_url)
    received = wire.drain(topology().main("audit"))
    wire.close()
    assert 200 < sent_before < len(rows)
    assert complete_and_in_order(received, rows)
    assert attempts() == {0}
    assert relay.terminate() == 0


def publish_until(enough: threading.Event) -> None:
    for revision in itertools.count(1):
        record(*(facts.published(f"article-{number}", revision) for number in range(50)))
        if enough.wait(0.01):
            break
    connections.close_all()


@pytest.mark.any_database
def test_a_blocked_broker_is_waited_for_and_no_row_pays(run: Run, own_broker: RabbitNode) -> None:
    relay = run("relay_outbox")
    relay.wait_for("leading")
    own_broker.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
    try:
        first = record_facts(20)
        relay.wait_for("broker blocked")
        during = set(states(first))
        own_broker.ctl("set_vm_memory_high_watermark", "0.4")
        eventually(lambda: all_sent(first))
        relay.wait_for("broker unblocked")

        own_broker.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
        second = record_facts(20, prefix="more")
        eventually(lambda: relay.stderr.count("broker blocked") == 2)
        code = relay.terminate()
    finally:
        own_broker.ctl("set_vm_memory_high_watermark", "0.4")

    assert (during, set(states(second)), attempts()) == ({"pending"}, {"pending"}, {0})
    assert code == 0
    with relaying():
        eventually(lambda: all_sent(second))


@pytest.mark.any_database
def test_a_row_beyond_the_size_that_the_broker_takes_is_parked_and_the_others_go(
    run: Run, own_broker: RabbitNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.sending.verdicts.PARK_AFTER_TRIES", 2)
    own_broker.ctl("eval", "application:set_env(rabbit, max_message_size, 1000).")
    try:
        large = record_row(body=b"x" * 2000)
        good = record_facts(10)

        with relaying():
            eventually(lambda: all_sent(good))
            eventually(lambda: states([large]) == ["failed"])
    finally:
        own_broker.ctl("eval", "application:set_env(rabbit, max_message_size, 134217728).")

    large.refresh_from_db()
    assert large.last_error.startswith("suspect: the broker said 406 PRECONDITION_FAILED")
    assert "size" in large.last_error


@pytest.mark.any_database
def test_a_frozen_broker_does_not_delay_the_end(run: Run, own_broker: RabbitNode) -> None:
    relay = run("relay_outbox")
    relay.wait_for("leading")
    own_broker.pause()
    try:
        rows = record_facts(3)
        connecting = run("declare_topology")
        connecting.wait_for("timed out")  # and it is at it again, or in a pause
        codes = [relay.terminate(), connecting.terminate()]
    finally:
        own_broker.resume()

    assert codes == [0, 0]
    assert set(states(rows)) == {"pending"}


@pytest.mark.any_database
def test_a_relay_lives_through_the_absences_of_its_database(
    run: Run, own_postgres: OwnPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.use_database(own_postgres.create_database())
    (early,) = record_facts(1, prefix="early")
    connection.close()
    own_postgres.stop()
    relay = run("relay_outbox")
    relay.wait_for("database away")
    own_postgres.start()
    eventually(lambda: sent_after_return(early))

    own_postgres.restart()  # while it is idle
    eventually(_database_answers)
    (idle,) = record_facts(1, prefix="idle")
    eventually(lambda: sent_after_return(idle))
    assert attempts() == {0}
    connection.close()

    own_postgres.pause()
    time.sleep(1.5)  # it is in the middle of a look at the outbox by now
    code = relay.terminate()
    own_postgres.resume()
    assert code == 0

    monkeypatch.setattr("messaging.storing.database_turns.TURN_LIMIT_SECONDS", 1.0)
    eventually(_database_answers)
    free_lease()
    with relaying():
        (before,) = record_facts(1, prefix="before")
        eventually(lambda: sent_after_return(before))
        own_postgres.pause()
        time.sleep(3)  # a look hangs, loses its connection, and the next one cannot be made
        own_postgres.resume()
        eventually(_database_answers)
        (after,) = record_facts(1, prefix="after")
        eventually(lambda: sent_after_return(after))


def sent_after_return(row: OutboxMessage) -> bool:
    try:
        return all_sent([row])
    finally:
        connection.close()


def _database_answers() -> bool:
    connection.close()
    with suppress(Exception):
        connection.ensure_connection()
        return True
    return False


def test_a_locked_database_does_not_delay_the_end(run: Run, queues: Queues) -> None:
    relay = run("relay_outbox")
    relay.wait_for("leading")
    with transaction.atomic():
        OutboxMessage.objects.update(attempts=0)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("LOCK TABLE messaging_relaylease IN ACCESS EXCLUSIVE MODE")
        time.sleep(3.2)  # by now it wants to renew its lease
        code = relay.terminate()

    assert code == 0
    assert "Traceback" not in relay.stderr


@pytest.mark.any_database
def test_an_unmigrated_database_ends_it_with_one_clear_line(
    run: Run, queues: Queues, tmp_path: Path
) -> None:
    relay: Command = run("relay_outbox", DATABASE_URL=f"sqlite:///{tmp_path}/empty.sqlite3")

    assert relay.wait() == 3
    (line,) = relay.stderr.splitlines()
    assert "lacks" in line
    assert "manage.py migrate" in line
