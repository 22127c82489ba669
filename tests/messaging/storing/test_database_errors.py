"""Which kind a failure is, by its code: every code that delivery meets, and both drivers alive."""

import errno
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import django.db
import psycopg
import pytest
from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from messaging.errors import (
    BrokerUnavailable,
    ConfigurationError,
    DeliveryError,
    FactConflict,
    MalformedEvent,
    OutageError,
    PermanentError,
    SimulatedTransientError,
    TransientError,
)
from messaging.models import RelayLease
from messaging.storing.database_errors import kind_of, names_nothing


def raised(act: Callable[[], object]) -> BaseException:
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error
    raise AssertionError("nothing was raised")


def as_django_raises(error: Exception, wrapper: type[Exception]) -> BaseException:
    def act() -> None:
        try:
            raise error
        except Exception as driver_error:
            raise wrapper(*driver_error.args) from driver_error

    return raised(act)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MalformedEvent("x"), PermanentError),
        (FactConflict("x"), PermanentError),
        (PermanentError("x"), PermanentError),
        (SimulatedTransientError("x"), TransientError),
        (BrokerUnavailable("x"), OutageError),
        (ConfigurationError("x"), ConfigurationError),
        (DeliveryError("of no kind"), TransientError),
        (ValueError("unknown"), TransientError),
        (OverflowError("Python int too large to convert to SQLite INTEGER"), TransientError),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), TransientError),
        (RecursionError(), TransientError),
        (MemoryError(), TransientError),
        (KeyboardInterrupt(), TransientError),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), TransientError),
        (OSError("without a number"), TransientError),
        (OSError(errno.ENOSPC, "x"), TransientError),
        (OSError(errno.EIO, "x"), TransientError),
        (django.db.InterfaceError("connection already closed"), OutageError),
        (django.db.DataError("x"), PermanentError),
        (django.db.IntegrityError("x"), TransientError),
        (django.db.OperationalError("database is locked"), TransientError),
        (models.ProtectedError("x", set()), TransientError),
    ],
    ids=repr,
)
def test_errors_without_a_database_behind_them(
    error: BaseException, kind: type[DeliveryError]
) -> None:
    assert kind_of(error) is kind


def test_our_own_verdict_stands_whatever_caused_it() -> None:
    def act() -> None:
        try:
            raise psycopg.errors.AdminShutdown
        except psycopg.Error as error:
            raise FactConflict("decided") from error

    assert kind_of(raised(act)) is PermanentError


def test_an_unknown_error_takes_the_kind_of_its_declared_cause() -> None:
    def act() -> None:
        try:
            raise psycopg.errors.AdminShutdown
        except psycopg.Error as error:
            raise RuntimeError("wrapped twice") from as_django_raises(
                error, django.db.OperationalError
            )

    assert kind_of(raised(act)) is OutageError


def test_an_unknown_error_while_another_is_handled_is_not_that_other() -> None:
    def act() -> None:
        try:
            raise psycopg.errors.AdminShutdown
        except psycopg.Error:
            raise KeyError("a mistake of ours")  # noqa: B904 - that is the case

    assert kind_of(raised(act)) is TransientError


def test_a_circle_of_causes_ends() -> None:
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one

    assert kind_of(one) is TransientError


SQLSTATES = {
    OutageError: [
        *("08000", "08001", "08003", "08004", "08006", "08P01", "25006"),
        *("53000", "53100", "53200", "53300", "53400", "57P01", "57P02", "57P03", "57P05"),
        *("58000", "58030", "58P01", "XX001", "XX002"),
    ],
    TransientError: [
        *("40000", "40001", "40002", "40003", "40P01", "55P03", "55006", "57014", "25P03"),
        *("23000", "23001", "23503", "23505", "23P01", "25P02", "0A000", "42601", "P0001", "21000"),
        *("XX000", "ZZ999"),
    ],
    PermanentError: [
        "22000",
        "22001",
        "22003",
        "22007",
        "22021",
        "22P02",
        "22P05",
        "23502",
        "23514",
    ],
    ConfigurationError: ["42P01", "42703", "42883", "42501", "3F000", "3D000", "28000", "28P01"],
}


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [(sqlstate, kind) for kind, sqlstates in SQLSTATES.items() for sqlstate in sqlstates],
)
def test_the_kind_of_an_sqlstate(sqlstate: str, kind: type[DeliveryError]) -> None:
    try:
        driver_error = psycopg.errors.lookup(sqlstate)("any text")
    except KeyError:
        driver_error = psycopg.DatabaseError("any text")
        driver_error.sqlstate = sqlstate  # type: ignore[misc]

    assert kind_of(driver_error) is kind
    assert kind_of(as_django_raises(driver_error, django.db.DatabaseError)) is kind


@pytest.mark.parametrize(
    ("driver_error", "kind"),
    [
        (psycopg.OperationalError("the connection is closed"), OutageError),
        (psycopg.errors.ConnectionTimeout("connection timeout expired"), OutageError),
        (psycopg.InterfaceError("x"), OutageError),
        (psycopg.DataError("PostgreSQL text fields cannot contain NUL bytes"), PermanentError),
        (psycopg.ProgrammingError("x"), TransientError),
    ],
    ids=repr,
)
def test_what_psycopg_itself_raises_has_no_code(
    driver_error: psycopg.Error, kind: type[DeliveryError]
) -> None:
    assert driver_error.sqlstate is None
    assert kind_of(driver_error) is kind


SQLITE_CODES = {
    OutageError: [
        *("PERM", "NOMEM", "READONLY", "IOERR", "CORRUPT", "FULL", "CANTOPEN", "AUTH"),
        *("NOLFS", "READONLY_DBMOVED", "IOERR_WRITE", "IOERR_FSYNC", "CANTOPEN_ISDIR"),
        "CORRUPT_VTAB",
    ],
    TransientError: [
        *("BUSY", "BUSY_SNAPSHOT", "BUSY_TIMEOUT", "LOCKED", "LOCKED_SHAREDCACHE"),
        *("PROTOCOL", "SCHEMA", "INTERRUPT", "MISUSE", "INTERNAL", "CONSTRAINT"),
        *("CONSTRAINT_UNIQUE", "CONSTRAINT_PRIMARYKEY", "CONSTRAINT_FOREIGNKEY"),
        "CONSTRAINT_TRIGGER",
    ],
    ConfigurationError: ["NOTADB", "ERROR"],
    PermanentError: ["MISMATCH", "TOOBIG", "RANGE", "CONSTRAINT_CHECK", "CONSTRAINT_NOTNULL"],
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for kind, names in SQLITE_CODES.items() for name in names]
)
def test_the_kind_of_an_sqlite_code(name: str, kind: type[DeliveryError]) -> None:
    driver_error = sqlite3.OperationalError("any text")
    driver_error.sqlite_errorcode = getattr(sqlite3, f"SQLITE_{name}")

    assert kind_of(driver_error) is kind
    assert kind_of(as_django_raises(driver_error, django.db.OperationalError)) is kind


def test_an_sqlite_error_without_a_code_is_transient() -> None:
    assert kind_of(sqlite3.ProgrammingError("Cannot operate on a closed database.")) is (
        TransientError
    )


Execute = Callable[..., Any]
TABLE = (
    "CREATE TABLE scratch (id integer PRIMARY KEY, name varchar(5) UNIQUE, n integer NOT NULL"
    " CHECK (n > 0), parent integer REFERENCES scratch (id))"
)


def executes(connection: BaseDatabaseWrapper) -> Execute:
    """Runs one statement through Django, which is what wraps the driver's errors."""

    def execute(statement: str, *parameters: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)

    return execute


def broken_rules(execute: Execute, *, savepoint: Callable[[], Any]) -> dict[str, Any]:
    """The kinds of the constraint errors, the same statements on every database."""
    execute("INSERT INTO scratch (id, name, n) VALUES (1, 'a', 1)")
    kinds = {}
    for rule, values in {
        "primary key": "1, 'b', 1, NULL",
        "unique": "2, 'a', 1, NULL",
        "not null": "3, 'c', NULL, NULL",
        "check": "4, 'd', 0, NULL",
        "foreign key": "5, 'e', 1, 99",
    }.items():

        def act(values: str = values) -> None:
            with savepoint():
                execute(f"INSERT INTO scratch (id, name, n, parent) VALUES ({values})")

        error = raised(act)
        assert isinstance(error, django.db.IntegrityError)
        kinds[rule] = kind_of(error)
    return kinds


RULES = {
    "primary key": TransientError,
    "unique": TransientError,
    "not null": PermanentError,
    "check": PermanentError,
    "foreign key": TransientError,
}


@pytest.mark.django_db(transaction=True)
class TestOnSQLite:
    """With a file of the test's own, whatever database the suite runs on."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[..., BaseDatabaseWrapper]]:
        made: list[BaseDatabaseWrapper] = []

        def open_(name: str = "own.sqlite3", **options: Any) -> BaseDatabaseWrapper:
            handler = ConnectionHandler(
                {
                    "default": {
                        "ENGINE": "django.db.backends.sqlite3",
                        "NAME": name if name.startswith("file:") else str(tmp_path / name),
                        "OPTIONS": {"timeout": 0.05, "transaction_mode": "IMMEDIATE", **options},
                    }
                }
            )
            made.append(handler["default"])
            return made[-1]

        yield open_
        for connection in made:
            connection.close()

    @pytest.fixture
    def connection(self, opened: Callable[..., BaseDatabaseWrapper]) -> BaseDatabaseWrapper:
        connection = opened()
        executes(connection)(TABLE)
        return connection

    def test_broken_rules(self, connection: BaseDatabaseWrapper) -> None:
        assert broken_rules(executes(connection), savepoint=nullcontext) == RULES

    def test_a_database_that_another_process_writes_to(
        self, connection: BaseDatabaseWrapper, opened: Callable[..., BaseDatabaseWrapper]
    ) -> None:
        writer = executes(opened())
        writer("BEGIN IMMEDIATE")

        error = raised(lambda: executes(connection)("INSERT INTO scratch (n) VALUES (1)"))

        assert isinstance(error, django.db.OperationalError)
        assert kind_of(error) is TransientError

    def test_a_full_disk(self, connection: BaseDatabaseWrapper) -> None:
        execute = executes(connection)
        execute("PRAGMA max_page_count = 1")
        execute("DROP TABLE scratch")
        execute("CREATE TABLE filler (content)")

        error = raised(lambda: execute("INSERT INTO filler VALUES (zeroblob(1000000))"))

        assert kind_of(error) is OutageError

    def test_a_read_only_file(
        self, connection: BaseDatabaseWrapper, opened: Callable[..., BaseDatabaseWrapper]
    ) -> None:
        name = connection.settings_dict["NAME"]
        reader = opened(f"file:{name}?mode=ro", uri=True)

        error = raised(lambda: executes(reader)("INSERT INTO scratch (n) VALUES (1)"))

        assert kind_of(error) is OutageError

    def test_a_file_in_a_folder_that_is_gone(
        self, opened: Callable[..., BaseDatabaseWrapper]
    ) -> None:
        error = raised(lambda: executes(opened("gone/x.sqlite3"))("SELECT 1"))

        assert kind_of(error) is OutageError

    def test_a_file_that_is_no_database(
        self, opened: Callable[..., BaseDatabaseWrapper], tmp_path: Path
    ) -> None:
        (tmp_path / "garbage").write_bytes(b"no database at all" * 100)

        error = raised(lambda: executes(opened("garbage"))("SELECT * FROM sqlite_master"))

        assert kind_of(error) is ConfigurationError

    def test_a_value_of_another_type_in_a_key(self, connection: BaseDatabaseWrapper) -> None:
        error = raised(lambda: executes(connection)("INSERT INTO scratch (id, n) VALUES ('x', 1)"))

        assert kind_of(error) is PermanentError

    def test_a_missing_table_cannot_be_told_from_other_mistakes(
        self, connection: BaseDatabaseWrapper
    ) -> None:
        for statement in ("SELECT 1 FROM gone", "SELEC"):
            error = raised(lambda statement=statement: executes(connection)(statement))
            assert names_nothing(error)
            assert kind_of(error) is ConfigurationError


@pytest.mark.skipif(
    django.db.connection.vendor != "postgresql", reason="the suite runs on another database"
)
@pytest.mark.django_db(transaction=True)
class TestOnPostgreSQL:
    """With connections of the test's own to the suite's database, in a schema of its own."""

    @pytest.fixture
    def opened(self) -> Iterator[Callable[..., Any]]:
        schema = f"scratch_{uuid.uuid4().hex}"
        made: list[BaseDatabaseWrapper] = []

        def open_(session: str = "", **changes: Any) -> BaseDatabaseWrapper:
            settings = django.db.connection.settings_dict
            options = {**settings["OPTIONS"], "options": f"-c search_path={schema} {session}"}
            handler = ConnectionHandler({"default": {**settings, "OPTIONS": options, **changes}})
            made.append(handler["default"])
            return made[-1]

        execute = executes(open_())
        execute(f"CREATE SCHEMA {schema}")
        execute(TABLE)
        execute("INSERT INTO scratch (id, name, n) VALUES (10, 'j', 1), (11, 'k', 1)")
        yield open_
        for connection in made:
            connection.close()
        executes(open_())(f"DROP SCHEMA {schema} CASCADE")
        made[-1].close()

    def kind_after(self, execute: Execute, *statements: str) -> type[DeliveryError]:
        for statement in statements[:-1]:
            execute(statement)
        error = raised(lambda: execute(statements[-1]))
        assert isinstance(error, django.db.Error)
        return kind_of(error)

    def test_broken_rules(self, opened: Callable[..., Any]) -> None:
        assert broken_rules(executes(opened()), savepoint=nullcontext) == RULES

    @pytest.mark.parametrize(
        ("statements", "kind"),
        [
            (("SELECT 1 FROM gone",), ConfigurationError),
            (("SELECT gone FROM scratch",), ConfigurationError),
            (("SELECT gone(1)",), ConfigurationError),
            (("SET ROLE pg_monitor", "SELECT 1 FROM scratch"), ConfigurationError),
            (("SET default_transaction_read_only = on", "DELETE FROM scratch"), OutageError),
            (("SET statement_timeout = 20", "SELECT pg_sleep(5)"), TransientError),
            (("SELECT 'x'::integer",), PermanentError),
            (("SELECT 99999999999::integer",), PermanentError),
            (('SELECT \'{"a": "\\u0000"}\'::jsonb',), PermanentError),
            (("UPDATE scratch SET name = 'too long'",), PermanentError),
            (("SELECT pg_terminate_backend(pg_backend_pid())",), OutageError),
            (("BEGIN", "SELECT 1", "SELEC"), TransientError),
        ],
        ids=str,
    )
    def test_a_statement_that_fails(
        self, opened: Callable[..., Any], statements: tuple[str, ...], kind: type[DeliveryError]
    ) -> None:
        assert self.kind_after(executes(opened()), *statements) is kind

    def test_a_nul_in_a_text(self, opened: Callable[..., Any]) -> None:
        execute = executes(opened())

        error = raised(lambda: execute("UPDATE scratch SET name = %s", "a\0b"))

        assert kind_of(error) is PermanentError

    @pytest.mark.parametrize("wait", ["NOWAIT", ""])
    def test_a_row_that_another_session_holds(self, opened: Callable[..., Any], wait: str) -> None:
        holder, waiter = executes(opened()), executes(opened("-c lock_timeout=20"))
        holder("BEGIN")
        holder("SELECT 1 FROM scratch WHERE id = 10 FOR UPDATE")

        assert self.kind_after(waiter, f"SELECT 1 FROM scratch FOR UPDATE {wait}") is TransientError

    def test_a_deadlock(self, opened: Callable[..., Any]) -> None:
        impatient, patient = opened("-c deadlock_timeout=50"), opened("-c deadlock_timeout=60s")
        for connection, row in ((impatient, 10), (patient, 11)):
            connection.inc_thread_sharing()
            executes(connection)("BEGIN")
            executes(connection)(f"SELECT 1 FROM scratch WHERE id = {row} FOR UPDATE")

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(executes(patient), "SELECT 1 FROM scratch WHERE id = 10 FOR UPDATE")
            error = raised(
                lambda: executes(impatient)("SELECT 1 FROM scratch WHERE id = 11 FOR UPDATE")
            )
            executes(impatient)("ROLLBACK")
            other.result()

        assert kind_of(error) is TransientError
        assert error.__cause__.sqlstate == "40P01"  # type: ignore[union-attr]

    def test_two_changes_that_cannot_be_put_in_order(self, opened: Callable[..., Any]) -> None:
        late, quick = executes(opened()), executes(opened())
        late("BEGIN ISOLATION LEVEL REPEATABLE READ")
        late("SELECT 1 FROM scratch")
        quick("UPDATE scratch SET n = 5 WHERE id = 10")

        assert self.kind_after(late, "UPDATE scratch SET n = 6 WHERE id = 10") is TransientError

    def test_a_backend_that_was_ended_from_outside_and_the_use_after_it(
        self, opened: Callable[..., Any]
    ) -> None:
        connection = opened()
        execute = executes(connection)
        execute("SELECT 1")
        backend = connection.connection.info.backend_pid
        executes(opened())(f"SELECT pg_terminate_backend({backend}, 5000)")

        first = raised(lambda: execute("SELECT 1"))
        second = raised(lambda: execute("SELECT 1"))

        assert kind_of(first) is OutageError
        assert kind_of(second) is OutageError

    def test_a_connection_lost_inside_a_transaction(self, opened: Callable[..., Any]) -> None:
        handler_connection = django.db.connection

        def act() -> None:
            with transaction.atomic():
                with handler_connection.cursor() as cursor:
                    cursor.execute("SELECT pg_backend_pid()")
                    (backend,) = cursor.fetchone()
                executes(opened())(f"SELECT pg_terminate_backend({backend}, 5000)")
                executes(handler_connection)("SELECT 1")

        assert kind_of(raised(act)) is OutageError

    @pytest.mark.parametrize(
        "changes", [{"PORT": "1"}, {"NAME": "no_such_database"}, {"PASSWORD": "wrong"}], ids=str
    )
    def test_a_connection_that_is_refused_has_no_code(
        self, opened: Callable[..., Any], changes: dict[str, str]
    ) -> None:
        assert kind_of(raised(lambda: executes(opened(**changes))("SELECT 1"))) is OutageError


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_an_error_has_broken_takes_the_kind_of_that_error() -> None:
    def act() -> None:
        with transaction.atomic():
            RelayLease.objects.create(name="x")
            try:
                with transaction.atomic(savepoint=False):
                    RelayLease.objects.create(name="x")
            except django.db.IntegrityError:
                RelayLease.objects.count()

    error = raised(act)

    assert isinstance(error, transaction.TransactionManagementError)
    assert kind_of(error) is TransientError
