"""Turns of database work: what happens to connections to further databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from messaging.errors import OutageError
from messaging.running.process import Lifetime
from messaging.storing import database_turns
from messaging.storing.database_turns import DatabaseTurns

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
