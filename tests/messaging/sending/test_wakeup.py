"""The bell: an idle relay hears at once that something was published."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections, transaction

from messaging import outbox
from messaging.running.process import Lifetime
from messaging.sending.wakeup import Bell, bell
from tests.eventually import eventually
from tests.messaging import facts
from tests.postgres_cluster import OwnPostgres
from tests.processes.harness import Run


@contextmanager
def hung() -> Iterator[Bell]:
    """The bell of the test's database; what it rang for before is forgotten."""
    connection.ensure_connection()
    hanging = bell("default")
    try:
        hanging.fileno()
        hanging.rang()
        yield hanging
    finally:
        hanging.close()


def publish_elsewhere(*, commit: bool = True) -> None:
    """Another process's transaction: a thread has a connection of its own."""

    def publish() -> None:
        try:
            with transaction.atomic():
                outbox.record(facts.published())
                if not commit:
                    raise _RolledBack
        except _RolledBack:
            pass
        finally:
            connections.close_all()

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join()


class _RolledBack(Exception):
    pass


def test_it_rings_once_for_what_another_process_commits(run: Run) -> None:
    with hung() as hanging:
        before = hanging.rang()
        publish_elsewhere()

        assert not before
        assert eventually(hanging.rang, 5)
        assert not hanging.rang()


def test_it_rings_for_what_was_committed_before_it_listened(run: Run) -> None:
    connection.ensure_connection()
    hanging = bell("default")
    try:
        publish_elsewhere()
        hanging.fileno()

        assert hanging.rang()
        assert not hanging.rang()
    finally:
        hanging.close()


def test_it_is_silent_when_nothing_was_committed(run: Run) -> None:
    with hung() as hanging:
        publish_elsewhere(commit=False)

        assert not hanging.rang()


def test_it_ends_the_wait_of_a_relay_within_a_moment(run: Run) -> None:
    with hung() as hanging, Lifetime(catch_signals=False) as lifetime:
        timer = threading.Timer(0.1, publish_elsewhere)
        timer.start()
        end = time.monotonic() + 10
        rang = False
        while not rang and time.monotonic() < end:
            interval = hanging.interval_seconds
            rang = lifetime.wait_until(hanging.rang, interval, fileno=hanging.fileno())
        timer.join()

    assert rang


def test_a_closed_bell_is_silent_and_can_be_closed_twice(run: Run) -> None:
    with hung() as hanging:
        hanging.close()
        hanging.close()
        if connection.vendor == "postgresql":
            publish_elsewhere()

            assert not hanging.rang()


def test_a_broken_file_makes_it_silent(run: Run) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about the bell of SQLite")
    with hung() as hanging:
        connection.connection.close()  # under its feet

        assert not hanging.rang()


@pytest.mark.any_database
def test_without_its_server_it_is_silent_and_after_a_restart_it_hears_again(
    run: Run, own_postgres: OwnPostgres
) -> None:
    run.use_database(own_postgres.create_database())
    with hung() as hanging:
        own_postgres.stop()
        made_up = eventually(hanging.rang, 10)  # whatever was said meanwhile: look
        without = hanging.fileno(), hanging.rang()
        own_postgres.start()
        connection.close()

        eventually(lambda: hanging.fileno() is not None)
        publish_elsewhere()

        assert (made_up, without) == (True, (None, False))
        assert eventually(hanging.rang, 5)
