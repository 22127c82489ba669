"""Fixture: a PostgreSQL cluster of the test's own, to restart, kill and pause."""

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dev.postgres import PostgresCluster, find_binaries
from tests.environment import run_folder
from tests.file_lock import locked
from tests.missing_service import missing


class OwnPostgres(PostgresCluster):
    """A cluster with databases on demand."""

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"d{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    """A running cluster that no other test uses: `.stop()`, `.kill()`, `.start()` (same port),
    `.restart()`, `.pause()`, `.resume()`, `.create_database()`.

    Commands run against it after `run.use_database(own_postgres.create_database())`.
    """
    if find_binaries() is None:
        missing("PostgreSQL")
    folder = run_folder() / f"postgres-{uuid.uuid4().hex[:8]}"
    # With owners and modes, which PostgreSQL insists on.
    subprocess.run(["cp", "-a", str(_template()), str(folder)], check=True)
    cluster = OwnPostgres(folder)
    cluster.start()
    yield cluster
    cluster.kill()
    shutil.rmtree(folder, ignore_errors=True)


def _template() -> Path:
    """A cluster that never runs, made once a run: to copy one is quicker than to make one."""
    folder = run_folder() / "postgres-template"
    with locked(run_folder() / "postgres-template.lock"):
        PostgresCluster(folder).create()
    return folder
