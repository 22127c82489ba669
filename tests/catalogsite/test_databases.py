"""DATABASE_URL: what it becomes, what is refused, and what the databases themselves say of it."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler, OperationalError
from pytest_django import DjangoDbBlocker

from catalogsite.databases import read_database
from catalogsite.environment import SettingError
from tests.postgres_cluster import OwnPostgres
from tests.processes.harness import Run


def read(url: str, root: Path = Path("/nonexistent")) -> dict[str, Any]:
    return read_database(url, name="DATABASE_URL", root=root)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///var/catalog.sqlite3", "project/var/catalog.sqlite3"),
        ("sqlite:///a+b.sqlite3", "project/a+b.sqlite3"),
        ("sqlite:///new/folder/%D1%8F%20x%3F.db", "project/new/folder/я x?.db"),
        ("sqlite:///{root}/elsewhere/x.db", "elsewhere/x.db"),
    ],
)
def test_an_sqlite_file_is_found_from_the_project_and_its_folder_made(
    tmp_path: Path, url: str, file: str
) -> None:
    entry = read(url.format(root=tmp_path), root=tmp_path / "project")

    assert entry["NAME"] == str(tmp_path / file)
    assert (tmp_path / file).parent.is_dir()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgres://user:pass@host:5433/name",
            {"USER": "user", "PASSWORD": "pass", "HOST": "host", "PORT": 5433, "NAME": "name"},
        ),
        ("postgresql://host/name", {"USER": "", "PASSWORD": "", "HOST": "host", "PORT": ""}),
        (
            "postgres://%D1%8F%40h:p%40%2F%3A%23%25+%3F@h/a%2Bb+c%20d",
            {"USER": "я@h", "PASSWORD": "p@/:#%+?", "HOST": "h", "NAME": "a+b+c d"},
        ),
        ("postgres://u:a:b@h/n", {"PASSWORD": "a:b"}),
        ("postgres://u:p@[::1]:5432/n", {"HOST": "::1", "PORT": 5432}),
        ("postgres:///n", {"HOST": "", "NAME": "n"}),
        ("postgres://u@%2FVar%2Frun/n", {"HOST": "/Var/run", "NAME": "n", "USER": "u"}),
        ("postgres://u@%2Fvar%2Frun:5433/n", {"HOST": "/var/run", "PORT": 5433}),
        ("postgres:////var/run/n", {"HOST": "/var/run", "NAME": "n"}),
        ("postgres://u:p@h1:5432,h2:5433/n", {"HOST": "h1,h2", "PORT": "5432,5433"}),
    ],
)
def test_a_postgres_url_is_taken_apart(url: str, expected: dict[str, object]) -> None:
    entry = read(url)

    assert {key: entry[key] for key in expected} == expected
    assert entry["ENGINE"] == "django.db.backends.postgresql"


def test_options_of_the_url_are_kept_and_win() -> None:
    options = read(
        "postgres://h/n?sslmode=verify-full&sslrootcert=/etc/ca.pem&connect_timeout=9"
        "&application_name=mine&options=-c%20lock_timeout%3D1s"
    )["OPTIONS"]

    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/etc/ca.pem"
    assert options["connect_timeout"] == "9"
    assert options["application_name"] == "mine"
    assert options["keepalives_idle"] == 15
    assert options["options"].endswith(
        "-c idle_in_transaction_session_timeout=60000 -c jit=off -c lock_timeout=1s"
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("SECRETPW", "must start with sqlite:/// or postgres://"),
        ("postgres:SECRETPW", "must start with"),
        ("mysql://u:SECRETPW@h/n", "must start with"),
        ("POSTGRES+x://u:SECRETPW@h/n", "must start with"),
        ("postgis://u:SECRETPW@h/n", "must start with"),
        ("sqlite://", "must name a file"),
        ("sqlite:///", "must name a file"),
        ("sqlite://:memory:", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("sqlite://var/x.sqlite3", "must name a file"),
        ("sqlite:////tmp", "names a folder"),
        (f"sqlite:////tmp/{'a' * 300}", "names a file that cannot be: File name too long"),
        ("postgres://u:p@h/a/b", "has a '/' in the name of its database"),
        ("sqlite:///x.sqlite3?timeout=5", "takes no options"),
        ("sqlite:////dev/null/x.sqlite3", "a folder that cannot be made: "),
        ("sqlite:///100%.sqlite3", "write %25"),
        ("sqlite:///x%00.sqlite3", "NUL"),
        ("postgres://u:SECRETPW@h", "names no database"),
        ("postgres://u:SECRETPW@h/", "names no database"),
        ("postgres://u:SECRET#PW@h/n", "'#'"),
        ("postgres://u:SECRET PW@h/n", "blank"),
        ("postgres://u:p@SECRETPW@h/n", "write %40"),
        ("postgres://u:p/SECRETPW@h/n", "write %2F"),
        ("postgres://u:SECRETPW%@h/n", "write %25"),
        ("postgres://u:SECRETPW%FF@h/n", "not UTF-8"),
        ("postgres://u:SECRETPW@h:x/n", "host:port with a port"),
        ("postgres://u:SECRETPW@h:99999/n", "port from 1 to 65535"),
        ("postgres://u:SECRETPW@h:0/n", "port from 1 to 65535"),
        ("postgres://u:SECRETPW@::1/n", "IPv6 address in brackets"),
        ("postgres://u:SECRET[PW@h/n", "%5B"),
        ("postgres://u:SECRETPW@h/n?SECRETPW", "not name=value"),
        ("postgres://u:SECRETPW@h/n?SECRETPW=1", "does not know"),
        ("postgres://u:SECRETPW@h/n?conn_max_age=1", "does not know"),
        ("postgres://u:SECRETPW@h/n?sslmode=", "sslmode empty or twice"),
        ("postgres://u:SECRETPW@h/n?sslmode=require&sslmode=disable", "sslmode empty or twice"),
        ("postgres://u:SECRETPW@h/n?sslmode=verify", "as sslmode"),
        ("postgres://u:SECRETPW@h/n?connect_timeout=soon", "whole number in the option connect"),
    ],
)
def test_what_would_be_bent_is_refused_without_a_word_of_the_url(url: str, says: str) -> None:
    with pytest.raises(SettingError) as caught:
        read(url)

    assert says in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert "PW" not in str(caught.value)


_ASK_SQLITE = """
from django.db import connection
with connection.cursor() as cursor:
    for name in ("busy_timeout", "journal_mode", "synchronous", "foreign_keys"):
        print(name, cursor.execute(f"PRAGMA {name}").fetchone()[0])
from django.db import transaction
with transaction.atomic():
    print("in_transaction", connection.connection.in_transaction)
"""


def test_a_command_has_the_documented_pragmas_on_sqlite(run: Run, tmp_path: Path) -> None:
    done = run.manage("shell", "-c", _ASK_SQLITE, DATABASE_URL=f"sqlite:///{tmp_path}/x.sqlite3")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-5:] == [
        "busy_timeout 3000",
        "journal_mode wal",
        "synchronous 2",  # FULL
        "foreign_keys 1",
        "in_transaction True",
    ]


@pytest.fixture
def unblocked(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Connections to databases that are not the tests' own."""
    with django_db_blocker.unblock():
        yield


@pytest.mark.usefixtures("unblocked")
def test_a_transaction_on_sqlite_takes_the_write_lock_at_once(tmp_path: Path) -> None:
    databases = ConnectionHandler({"default": read(f"sqlite:///{tmp_path}/x.sqlite3")})
    other = sqlite3.connect(tmp_path / "x.sqlite3", timeout=0, isolation_level=None)

    _begin(databases["default"])
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")

    databases["default"].rollback()
    other.execute("BEGIN IMMEDIATE")
    databases["default"].close()
    other.close()


@pytest.mark.usefixtures("unblocked")
def test_a_transaction_on_sqlite_begins_beside_one_that_hardly_ever_lets_the_lock_go(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/x.sqlite3"
    database = ConnectionHandler({"default": read(url)})["default"]
    over = threading.Event()

    def write_again_and_again() -> None:
        other = sqlite3.connect(tmp_path / "x.sqlite3", isolation_level=None)
        while not over.is_set():
            other.execute("BEGIN IMMEDIATE")
            over.wait(0.1)
            other.execute("COMMIT")
            time.sleep(0.001)
        other.close()

    busy = threading.Thread(target=write_again_and_again)
    busy.start()
    try:
        for _ in range(5):
            _begin(database)
            database.rollback()
            database.set_autocommit(True)
    finally:
        over.set()
        busy.join()
        database.close()


@pytest.mark.usefixtures("unblocked")
def test_a_transaction_on_sqlite_is_refused_once_its_time_is_over(tmp_path: Path) -> None:
    entry = read(f"sqlite:///{tmp_path}/x.sqlite3")
    entry["OPTIONS"]["timeout"] = 0.2
    database = ConnectionHandler({"default": entry})["default"]
    database.ensure_connection()
    other = sqlite3.connect(tmp_path / "x.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    began = time.monotonic()
    with pytest.raises(OperationalError, match="locked"):
        _begin(database)

    assert 0.2 <= time.monotonic() - began < 3
    with database.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (200,)
    other.close()
    _begin(database)
    database.rollback()
    database.close()


def _begin(database: BaseDatabaseWrapper) -> None:
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


@pytest.mark.usefixtures("unblocked")
def test_many_may_open_a_new_sqlite_file_at_once(tmp_path: Path) -> None:
    failures: list[Exception] = []
    barrier = threading.Barrier(8)

    def open_it() -> None:
        database = ConnectionHandler({"default": read(f"sqlite:///{tmp_path}/new.sqlite3")})
        barrier.wait()
        try:
            database["default"].ensure_connection()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            failures.append(error)
        finally:
            database["default"].close()

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


_ASK_POSTGRES = """
from django.db import connection
with connection.cursor() as cursor:
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
                 "application_name", "tcp_keepalives_idle", "tcp_keepalives_interval",
                 "tcp_keepalives_count"):
        cursor.execute(f"SHOW {name}")
        print(name, cursor.fetchone()[0])
print("connect_timeout", connection.connection.info.get_parameters()["connect_timeout"])
print("keepalives_idle", connection.connection.info.get_parameters()["keepalives_idle"])
"""


def test_a_command_has_the_documented_timeouts_on_postgresql(
    run: Run, own_postgres: OwnPostgres
) -> None:
    done = run.manage("shell", "-c", _ASK_POSTGRES, DATABASE_URL=own_postgres.create_database())

    assert done.returncode == 0, done.stderr
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert found["statement_timeout"] == "30s"
    assert found["lock_timeout"] == "5s"
    assert found["idle_in_transaction_session_timeout"] == "1min"
    assert found["application_name"] == "catalogsite"
    assert found["connect_timeout"] == "5"
    assert found["keepalives_idle"] == "15"
