"""Databases for tests, copied from one that was migrated once a run."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connections

from catalogsite.databases import read_database
from tests.environment import DATABASE_GIVEN, PROJECT, clean_environment, run_folder
from tests.file_lock import locked
from tests.processes.command import manage, run_to_end


def database_of_run() -> str:
    """The URL that the run was given: a PostgreSQL server, or else a file in its folder."""
    return os.environ[DATABASE_GIVEN] or f"sqlite:///{run_folder()}/run.sqlite3"


def fresh_database(run_url: str, *, name: str = "") -> str:
    """The URL of a new, migrated database on the server (or beside the file) of the run."""
    name = name or f"d{uuid.uuid4().hex[:12]}"
    if run_url.startswith("sqlite:"):
        path = run_folder() / f"{name}.sqlite3"
        shutil.copyfile(sqlite_template(), path)
        return f"sqlite:///{path}"
    template = _postgres_template(run_url)
    _execute(run_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    _execute(run_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    return _with_database(run_url, name)


def sqlite_template() -> Path:
    """A migrated file to copy; nobody works on it."""
    path = run_folder() / "template.sqlite3"
    with locked(run_folder() / "template.lock"):
        if not path.exists():
            draft = path.with_name("template-draft.sqlite3")
            draft.unlink(missing_ok=True)
            migrate(f"sqlite:///{draft}")
            draft.rename(path)
    return path


def empty_database(run_url: str) -> str:
    """The URL of a new database in which no migration has run."""
    name = f"d{uuid.uuid4().hex[:12]}"
    if run_url.startswith("sqlite:"):
        return f"sqlite:///{run_folder() / name}.sqlite3"
    _execute(run_url, f"CREATE DATABASE {name}")
    return _with_database(run_url, name)


def drop_database(url: str, *, run_url: str) -> None:
    """Whoever is still connected is cut off."""
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:///")
        for suffix in ("", "-wal", "-shm"):
            Path(path + suffix).unlink(missing_ok=True)
    else:
        name = urlsplit(url).path[1:]
        _execute(run_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def migrate(url: str) -> None:
    """Run the migrations there, as a user would."""
    done = run_to_end(manage("migrate", "--verbosity=0"), environment=environment_for(url))
    assert done.returncode == 0, f"migrate failed:\n{done.stdout}{done.stderr}"


def environment_for(url: str, **settings: str) -> dict[str, str]:
    """The environment of a command that works on that database."""
    needed = {"SECRET_KEY": "for tests alone", "DATABASE_URL": url}
    return clean_environment() | needed | settings


@contextmanager
def orm_on(url: str) -> Iterator[None]:
    """Inside, the ORM of this process (every new thread of it, too) works on that database."""
    settings = connections.settings["default"]
    before = dict(settings)
    _let_go()
    settings.update(read_database(url, name="DATABASE_URL", root=PROJECT))
    try:
        yield
    finally:
        _let_go()
        settings.clear()
        settings.update(before)


def _let_go() -> None:
    """The next look at the connection makes a new one, of the kind that the settings then name."""
    connections["default"].close()
    del connections["default"]


def _postgres_template(run_url: str) -> str:
    name = f"template_{run_folder().name.rpartition('-')[2]}".lower()
    done = run_folder() / f"{name}.done"
    with locked(run_folder() / "template.lock"):
        if not done.exists():
            _execute(run_url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            _execute(run_url, f"CREATE DATABASE {name}")
            migrate(_with_database(run_url, name))
            done.touch()
    return name


def _execute(run_url: str, statement: str) -> None:
    with psycopg.connect(_with_database(run_url, "postgres"), autocommit=True) as connection:
        connection.execute(statement)


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
