"""A private cluster: quick, and still true to what it has committed."""

from pathlib import Path

import psycopg
import pytest

from dev.postgres import ClusterFailed, PostgresCluster
from tests.postgres_cluster import OwnPostgres

pytestmark = pytest.mark.any_database


def test_commits_survive_a_kill_and_the_port_stays(own_postgres: OwnPostgres) -> None:
    url = own_postgres.create_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (id int)")
    port = own_postgres.port

    own_postgres.kill()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    own_postgres.start()

    assert own_postgres.port == port
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_successor_takes_over_from_a_run_that_was_killed(own_postgres: OwnPostgres) -> None:
    port = own_postgres.port

    successor = PostgresCluster(own_postgres.folder)
    successor.start()

    assert successor.port == port
    successor.stop()
    assert not own_postgres.is_running()


def test_a_paused_cluster_answers_nobody_and_goes_on_afterwards(
    own_postgres: OwnPostgres,
) -> None:
    with psycopg.connect(own_postgres.url()) as connection:
        own_postgres.pause()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(own_postgres.url(), connect_timeout=2)

        own_postgres.resume()

        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_wrong_password_is_refused(own_postgres: OwnPostgres) -> None:
    url = own_postgres.url().replace(":", ":x", 2).replace("postgres:x//", "postgres://")

    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url)


def test_a_cluster_that_cannot_start_says_why_and_leaves_nothing(
    own_postgres: OwnPostgres,
) -> None:
    own_postgres.stop()
    with open(own_postgres.folder / "data" / "postgresql.conf", "a") as settings:
        settings.write("no_such_setting = 1\n")

    with pytest.raises(ClusterFailed, match="no_such_setting"):
        own_postgres.start()

    assert not own_postgres.is_running()


def test_a_cluster_needs_its_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dev.postgres.find_binaries", lambda: None)

    with pytest.raises(ClusterFailed, match="not installed"):
        PostgresCluster(tmp_path).start()
