"""The consumer's own database goes away, freezes or refuses: no message pays, and none is lost."""

import errno
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from django.db import OperationalError, connection

from dev.postgres import find_binaries
from materials.audit.models import AuditRecord
from materials.audit.projection import apply
from messaging.envelope import Event
from messaging.errors import ConfigurationError
from messaging.models import FailedAttempt, InboxReceipt
from messaging.storing.database_turns import STILL_FRESH_SECONDS
from tests.environment import run_folder
from tests.eventually import eventually, never
from tests.messaging.facts import published
from tests.missing_service import missing
from tests.postgres_cluster import OwnPostgres
from tests.processes.database import migrate
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once, working

MISCONFIGURED = 3
EVENTS = [published(f"article-{number}") for number in range(20)]


@pytest.fixture(scope="module")
def _cluster() -> Iterator[tuple[OwnPostgres, str]]:
    """A cluster for the tests of this module, and a migrated database in it to copy."""
    if find_binaries() is None:
        missing("PostgreSQL")
    folder = run_folder() / f"postgres-{uuid.uuid4().hex[:8]}"
    cluster = OwnPostgres(folder)
    cluster.start()
    template = cluster.create_database()
    migrate(template)
    yield cluster, urlsplit(template).path[1:]
    cluster.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(_cluster: tuple[OwnPostgres, str], run: Run, queues: Queues) -> OwnPostgres:
    """A cluster to restart, kill and pause; `run` works on a fresh database in it."""
    cluster, template = _cluster
    cluster.resume()
    if not cluster.is_running():
        cluster.start()
    name = f"d{uuid.uuid4().hex[:12]}"
    execute(cluster, f"CREATE DATABASE {name} TEMPLATE {template}")
    run.use_database(cluster.url(name), migrated=True)
    return cluster


def execute(cluster: OwnPostgres, statement: str) -> None:
    with psycopg.connect(cluster.url(), autocommit=True) as own:
        own.execute(statement)


def recorded() -> int:
    return AuditRecord.objects.count()


def assert_nobody_paid(queues: Queues, *, events: int) -> None:
    queues.await_ready("audit")
    assert recorded() == events
    assert InboxReceipt.objects.filter(consumer="audit").count() == events
    assert FailedAttempt.objects.count() == 0


@pytest.mark.any_database
def test_while_the_database_is_away_messages_wait_and_none_pays(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")
    queues.publish(*EVENTS[:5])
    eventually(lambda: recorded() == 5)
    connection.close()

    postgres.stop()
    queues.give("audit", b"not an event")
    consumer.wait_for("database away")
    queues.publish(*EVENTS[5:])
    never(lambda: queues.ready("audit").get("dead") or queues.ready("audit").get("retry"))
    postgres.start()

    eventually(lambda: recorded() == 20)
    queues.await_ready("audit", dead=1)
    assert len(queues.dead("audit")) == 1
    assert_nobody_paid(queues, events=20)
    assert consumer.terminate() == 0
    assert "Traceback" not in consumer.stderr


@pytest.mark.any_database
def test_after_a_restart_of_the_database_the_first_message_is_applied(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")
    queues.publish(EVENTS[0])
    eventually(lambda: recorded() == 1)
    connection.close()

    postgres.restart()
    never(lambda: "database away" in consumer.stderr, 2 * STILL_FRESH_SECONDS)
    queues.publish(EVENTS[1])

    eventually(lambda: recorded() == 2)
    assert_nobody_paid(queues, events=2)
    assert "database away" not in consumer.stderr, "the stale connection was seen before its use"
    assert consumer.terminate() == 0


@pytest.mark.any_database
def test_a_consumer_that_starts_before_its_database_waits_for_it(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    connection.close()
    postgres.stop()
    queues.publish(EVENTS[0])
    early, other = run("consume", "audit"), run("consume", "audit")
    early.wait_for("database away")
    other.wait_for("database away")

    assert other.terminate() == 0, other.report()
    postgres.start()

    eventually(lambda: recorded() == 1)
    assert_nobody_paid(queues, events=1)
    assert early.terminate() == 0


@pytest.mark.any_database
@pytest.mark.parametrize("how", ["killed", "terminated"])
def test_a_connection_lost_inside_the_transaction_is_all_or_nothing(
    postgres: OwnPostgres, queues: Queues, how: str
) -> None:
    calls: list[int] = []

    def cut_off_once(events: Sequence[Event], using: str) -> set[str]:
        stale = apply(events, using)
        calls.append(len(events))
        if len(calls) == 1 and how == "terminated":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                (pid,) = cursor.fetchone()
            execute(postgres, f"SELECT pg_terminate_backend({pid}, 5000)")
        elif len(calls) == 1:
            postgres.kill()
            postgres.start()
        return stale

    queues.publish(*EVENTS[:3])
    with working("audit", apply=cut_off_once):
        eventually(lambda: len(calls) > 1)
        connection.close()
        eventually(lambda: recorded() == 3)

        assert_nobody_paid(queues, events=3)
    assert set(InboxReceipt.objects.values_list("duplicates", flat=True)) == {0}


@pytest.mark.any_database
def test_with_a_frozen_database_a_consumer_stops_within_five_seconds(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit")
    consumer.wait_for("consuming")
    queues.publish(EVENTS[0])
    eventually(lambda: recorded() == 1)
    connection.close()

    postgres.pause()
    try:
        queues.publish(EVENTS[1])
        eventually(lambda: queues.ready("audit") == {})

        assert consumer.terminate() == 0, consumer.report()
    finally:
        postgres.resume()

    queues.await_ready("audit", main=1)
    with working("audit"):
        eventually(lambda: recorded() == 2)
        assert_nobody_paid(queues, events=2)


@pytest.mark.any_database
def test_a_frozen_database_is_given_up_in_the_end_and_used_again_when_it_thaws(
    postgres: OwnPostgres, run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.storing.database_turns.TURN_LIMIT_SECONDS", 1.0)
    queues.publish(EVENTS[0])
    with working("audit"):
        eventually(lambda: recorded() == 1)
        connection.close()

        postgres.pause()
        try:
            queues.publish(EVENTS[1])
            time.sleep(2.5)  # past the limit: the hang is broken, and connecting again fails
        finally:
            postgres.resume()

        eventually(lambda: recorded() == 2)
        assert_nobody_paid(queues, events=2)


@pytest.mark.any_database
def test_a_database_that_turned_read_only_is_waited_for(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    name = urlsplit(run.environment["DATABASE_URL"]).path[1:]
    execute(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    queues.publish(*EVENTS)

    consumer = run("consume", "audit")
    consumer.wait_for("database away")
    execute(postgres, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    connection.close()

    eventually(lambda: recorded() == 20)
    assert_nobody_paid(queues, events=20)
    assert consumer.terminate() == 0


@pytest.mark.any_database
def test_a_lock_that_is_held_for_long_is_a_failure_of_this_message_alone(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    url = run.environment["DATABASE_URL"]
    run.use_database(f"{url}?options={quote('-c lock_timeout=100')}", migrated=True)
    queues.publish(published("article-0", 1, title="First"))
    with working("catalog"):
        eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").count() == 1)

        with psycopg.connect(urlunsplit(urlsplit(url)._replace(query=""))) as own:
            own.execute("SELECT 1 FROM catalog_entry FOR UPDATE")
            queues.publish(published("article-0", 2), *EVENTS[1:5])
            eventually(lambda: FailedAttempt.objects.exists())
            eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").count() == 5)

        eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").count() == 6)
        queues.await_ready("catalog")
    assert set(FailedAttempt.objects.values_list("material_id", flat=True)) == {"article-0"}


@pytest.mark.parametrize("where", ["the handler", "the count of failures"])
def test_a_fault_of_the_configuration_leaves_no_copy_behind_with_its_original(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    first, second = published("article-1"), published("article-2")

    def refuse(*_arguments: object) -> Any:
        raise ConfigurationError("a right is missing")

    def take_away_the_right(events: Sequence[Event], using: str) -> set[str]:
        if second in events:
            refuse()
        # One batch of both, if they arrive in time; the same end if they do not.
        queues.give("audit", b"not an event")
        queues.publish(second)
        queues.await_ready("audit")
        time.sleep(0.2)
        return apply(events, using)

    simulated = frozenset[str]()
    if where == "the count of failures":
        monkeypatch.setattr("messaging.handling.attempts.record", refuse)
        simulated = frozenset({second.material_id})
    queues.publish(first)
    with pytest.raises(ConfigurationError):
        consume_once("audit", apply=take_away_the_right, simulate_temporary=simulated)

    queues.await_ready("audit", main=1, dead=1)


@pytest.mark.any_database
def test_a_database_without_tables_ends_it_with_3(
    postgres: OwnPostgres, run: Run, queues: Queues
) -> None:
    consumer = run("consume", "audit", DATABASE_URL=postgres.create_database())

    assert consumer.wait() == MISCONFIGURED
    assert consumer.stderr.splitlines()[-1].startswith("CommandError: ")
    assert "migrate" in consumer.stderr
    assert "Traceback" not in consumer.stderr


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE audit_record RENAME TO elsewhere",
        "ALTER TABLE audit_record RENAME COLUMN revision TO elsewhere",
        "ALTER TABLE messaging_inboxreceipt RENAME TO elsewhere",
        "ALTER TABLE messaging_failedattempt RENAME TO elsewhere",
    ],
)
def test_a_table_or_column_that_goes_under_a_consumer_ends_it_and_nobody_pays(
    run: Run, queues: Queues, change: str
) -> None:
    missing_name = change.split()[2]

    def fail_over_the_first(events: Sequence[Event], using: str) -> set[str]:
        if "failedattempt" in missing_name:
            raise RuntimeError
        return apply(events, using)

    with connection.cursor() as cursor:
        cursor.execute(change)
    queues.publish(*EVENTS[:3])

    with pytest.raises(ConfigurationError, match=missing_name):
        consume_once("audit", apply=fail_over_the_first)

    queues.await_ready("audit", main=3)
    connection.close()
    if "failedattempt" not in missing_name:
        assert not FailedAttempt.objects.exists()


def test_a_mistake_over_one_event_costs_that_event_alone(
    run: Run, long_delay: None, queues: Queues
) -> None:
    mistakes = {
        "article-3": "SELECT no_such_function(1)",
        "article-7": "SELECT 1 FROM no_such_table",
        "article-8": "SELECT no_such_column FROM audit_record",
        "article-9": "SELEC",
    }
    unreadable = "article-12"

    def come_to_grief(events: Sequence[Event], using: str) -> set[str]:
        stale = apply(events, using)
        for event in events:
            if event.material_id == unreadable:
                raise OSError(errno.EIO, "a bad attachment")
            if event.material_id in mistakes:
                with connection.cursor() as cursor:
                    cursor.execute(mistakes[event.material_id])
        return stale

    queues.publish(*EVENTS)
    consume_once("audit", apply=come_to_grief)

    bad = {*mistakes, unreadable}
    assert set(AuditRecord.objects.values_list("material_id", flat=True)) == {
        event.material_id for event in EVENTS if event.material_id not in bad
    }
    paid = FailedAttempt.objects.filter(transient=True).values_list("material_id", flat=True)
    assert set(paid) == bad


def test_a_full_disk_is_waited_for(run: Run, queues: Queues) -> None:
    calls: list[int] = []

    def full_twice(events: Sequence[Event], using: str) -> set[str]:
        calls.append(len(events))
        if len(calls) > 2:
            return apply(events, using)
        if connection.vendor == "postgresql":
            raise OperationalError from psycopg.errors.DiskFull()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
            cursor.execute("CREATE TABLE filler AS SELECT zeroblob(1000000)")
        raise AssertionError("there was room")

    queues.publish(*EVENTS[:3])
    with working("audit", apply=full_twice):
        eventually(lambda: recorded() == 3)

        assert_nobody_paid(queues, events=3)


@pytest.fixture
def sqlite_file(run: Run) -> Path:
    if connection.vendor != "sqlite":
        pytest.skip("about the file of SQLite")
    return Path(connection.settings_dict["NAME"])


def test_a_write_lock_that_another_process_holds_for_long_is_no_message_s_fault(
    sqlite_file: Path, run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.2)
    queues.publish(*EVENTS)
    with closing(sqlite3.connect(sqlite_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with working("audit"):
            never(lambda: recorded(), seconds=1.5)
            other.execute("COMMIT")

            eventually(lambda: recorded() == 20)
            assert_nobody_paid(queues, events=20)


def test_a_write_lock_does_not_keep_a_consumer_from_stopping(
    sqlite_file: Path, run: Run, queues: Queues
) -> None:
    queues.publish(EVENTS[0])
    with closing(sqlite3.connect(sqlite_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        consumer = run("consume", "audit")
        consumer.wait_for("consuming")
        eventually(lambda: queues.ready("audit") == {})

        assert consumer.terminate() == 0, consumer.report()

    queues.await_ready("audit", main=1)


def test_a_file_that_cannot_be_opened_is_waited_for(
    sqlite_file: Path, run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues.publish(*EVENTS[:4])
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, "NAME", str(sqlite_file / "no folder"))
        with working("audit"):
            eventually(lambda: queues.ready("audit") == {})
            never(lambda: queues.ready("audit"), seconds=0.5)
            patch.undo()

            eventually(lambda: recorded() == 4)
            assert_nobody_paid(queues, events=4)
