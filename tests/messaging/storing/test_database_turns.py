"""Turns of database work: what happens to connections to further databases."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import IntegrityError, OperationalError
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from messaging.errors import OutageError, TransientError
from messaging.running.process import Lifetime
from messaging.storing import database_turns
from messaging.storing.database_turns import DatabaseTurns, what_holds_it_up

pytestmark = pytest.mark.any_database


@pytest.fixture
def connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> Iterator[ConnectionHandler]:
    """Two databases, with a connection to each."""
    handler = ConnectionHandler(
        {
            alias: {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / alias)}
            for alias in ("default", "other")
        }
    )
    monkeypatch.setattr(database_turns, "connections", handler)
    with django_db_blocker.unblock():
        for connection in handler.all():
            connection.connect()
        yield handler
        handler.close_all()


def test_a_stale_connection_to_another_database_is_dropped_before_a_turn(
    connections: ConnectionHandler,
) -> None:
    connections["other"].close_at = 0.0
    with Lifetime(catch_signals=False) as lifetime, DatabaseTurns("default", lifetime).turn():
        pass

    assert connections["other"].connection is None


def test_after_an_outage_no_connection_is_kept(connections: ConnectionHandler) -> None:
    with Lifetime(catch_signals=False) as lifetime:
        turns = DatabaseTurns("default", lifetime)
        turns.wait_for_return(OutageError("away"), still_wanted=lambda: False)

    assert [each.connection for each in connections.all()] == [None, None]


def _from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (_from(OperationalError(), psycopg.errors.LockNotAvailable()), "database busy"),
        (_from(OperationalError(), psycopg.errors.DeadlockDetected()), "database busy"),
        (
            _from(
                OutageError("no transaction could begin"),
                _from(OperationalError(), psycopg.errors.QueryCanceled()),
            ),
            "database busy",
        ),
        (_from(OperationalError(), psycopg.errors.AdminShutdown()), "database away"),
        (OutageError("no answer"), "database away"),
        (IntegrityError("twins"), "database work failed"),
    ],
    ids=repr,
)
def test_the_log_tells_a_busy_database_from_one_that_is_away(error: Exception, said: str) -> None:
    assert what_holds_it_up(error) == said


def test_what_asks_to_be_done_again_is_and_after_so_many_tries_is_raised(
    connections: ConnectionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def vanish() -> None:
        tries.append(1)
        raise TransientError("letters vanish")

    with Lifetime(catch_signals=False) as lifetime:
        turns = DatabaseTurns("default", lifetime)
        monkeypatch.setattr(turns, "wait_for_return", lambda error, still_wanted: None)
        with pytest.raises(TransientError):
            turns.insist(vanish, still_wanted=lambda: True, transient_tries=3)

    assert len(tries) == 3
