"""Which of the four kinds of failure an exception is: by code, never by the text of a message.

Codes are PostgreSQL's SQLSTATE and SQLite's result code, found on the driver's error behind
Django's. A failed connection to PostgreSQL has no code (libpq gives none): it is an outage,
even where the reason is a wrong password.

A code that says that something named is not there leaves open whose fault that is: a database
that was never migrated, or one statement's (`names_nothing`, and `schema` tells).
"""

import sqlite3
from collections.abc import Iterator

import django.db
import psycopg

from messaging.errors import (
    ConfigurationError,
    DeliveryError,
    OutageError,
    PermanentError,
    TransientError,
)

Kind = type[DeliveryError]


def kind_of(error: BaseException) -> Kind:
    """PermanentError, TransientError, OutageError or ConfigurationError.

    Our own errors keep their kind. Whatever is not known is transient: it is tried again, and
    dead after the last attempt. So is an OSError: a handler's file is not the store. What names
    something that is not there is ConfigurationError, right for statements of our own; for a
    handler's see `names_nothing`. Never raises.
    """
    for kind in _KINDS:
        if isinstance(error, kind):
            return kind
    for link in _chain(error):
        found = _kind_of_link(link)
        if found is not None:
            return found
    return _KIND_OF_DJANGO.get(type(error), TransientError)


def names_nothing(error: BaseException) -> bool:
    """Whether the database says that no such table, column, function or schema is there.

    Whose fault that is, `schema.lacks` tells. SQLite has one code for this and for every other
    mistake in a statement.
    """
    if isinstance(error, DeliveryError):
        return False
    return any(
        getattr(link, "sqlstate", None) in _ABSENT
        or getattr(link, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
        for link in _chain(error)
    )


def is_busy(error: BaseException) -> bool:
    """True for what passes by itself: locks held by others, deadlocks, timeouts."""
    cause = error.__cause__
    sqlite_code = getattr(cause, "sqlite_errorcode", None)
    if sqlite_code is not None:
        return sqlite_code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    # lock not available, query canceled, serialization failure, deadlock
    return getattr(cause, "sqlstate", None) in {"55P03", "57014", "40001", "40P01"}


def is_set_up_wrongly(error: BaseException) -> bool:
    """Whether the database lacks a table or a right, for commands whose every statement is right
    on a migrated database."""
    return kind_of(error) is ConfigurationError


SET_UP_WRONGLY = (
    "The database lacks a table or a right that this needs, or is none. "
    "Run `manage.py migrate`, or see to DATABASE_URL and the rights of its user."
)


_KINDS: tuple[Kind, ...] = (PermanentError, TransientError, OutageError, ConfigurationError)

# Only where no driver's error stands behind it: Django's own "connection already closed".
_KIND_OF_DJANGO: dict[type[BaseException], Kind] = {
    django.db.InterfaceError: OutageError,
    django.db.DataError: PermanentError,
}
_CHAIN_LIMIT = 20


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes. What was merely being handled counts for Django's errors alone:
    an unknown error raised while handling another one is not that other one."""
    link: BaseException | None = error
    for _ in range(_CHAIN_LIMIT):
        if link is None:
            return
        yield link
        follow_context = isinstance(link, django.db.Error) and not link.__suppress_context__
        link = link.__cause__ or (link.__context__ if follow_context else None)


def _kind_of_link(error: BaseException) -> Kind | None:
    match error:
        case psycopg.Error():
            return _kind_of_postgresql(error)
        case sqlite3.Error():
            return _kind_of_sqlite(getattr(error, "sqlite_errorcode", None))
    return None


# Schema, column, function, table.
_ABSENT = frozenset({"3F000", "42703", "42883", "42P01"})

# SQLSTATE, or the beginning of it; the longest that fits decides.
_KIND_OF_SQLSTATE: dict[str, Kind] = {
    "08": OutageError,  # connection exception
    "22": PermanentError,  # data exception
    "23": TransientError,  # integrity: unique, foreign key, exclusion settle with time
    "23502": PermanentError,  # not null
    "23514": PermanentError,  # check
    "25006": OutageError,  # read-only: a standby after a failover
    "25P03": TransientError,  # idle in transaction for too long
    "28": ConfigurationError,  # invalid authorization
    "3D000": ConfigurationError,  # no such database
    "3F000": ConfigurationError,  # no such schema
    "40": TransientError,  # serialization, deadlock
    "42501": ConfigurationError,  # missing privilege
    "42703": ConfigurationError,  # no such column
    "42883": ConfigurationError,  # no such function
    "42P01": ConfigurationError,  # no such table
    "53": OutageError,  # disk full, memory, too many connections
    "55006": TransientError,  # object in use
    "55P03": TransientError,  # lock timeout
    "57014": TransientError,  # statement timeout
    "57P": OutageError,  # shutdown, crash, cannot connect now, idle session
    "58": OutageError,  # system error
    "XX": OutageError,  # corruption
    "XX000": TransientError,  # internal error: often of this statement alone
}


def _kind_of_postgresql(error: psycopg.Error) -> Kind | None:
    sqlstate = error.sqlstate
    if sqlstate is not None:
        for length in (5, 3, 2):
            if kind := _KIND_OF_SQLSTATE.get(sqlstate[:length]):
                return kind
        return TransientError
    # Raised by the driver itself: the connection is gone, or a value cannot be sent.
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return OutageError
    return PermanentError if isinstance(error, psycopg.DataError) else None


_KIND_OF_SQLITE: dict[int, Kind] = {
    sqlite3.SQLITE_PERM: OutageError,
    sqlite3.SQLITE_NOMEM: OutageError,
    sqlite3.SQLITE_READONLY: OutageError,
    sqlite3.SQLITE_IOERR: OutageError,
    sqlite3.SQLITE_CORRUPT: OutageError,
    sqlite3.SQLITE_FULL: OutageError,
    sqlite3.SQLITE_CANTOPEN: OutageError,
    sqlite3.SQLITE_NOLFS: OutageError,
    sqlite3.SQLITE_AUTH: OutageError,
    sqlite3.SQLITE_NOTADB: ConfigurationError,  # some other file
    sqlite3.SQLITE_ERROR: ConfigurationError,  # no such table, or another mistake
    sqlite3.SQLITE_TOOBIG: PermanentError,
    sqlite3.SQLITE_MISMATCH: PermanentError,
    sqlite3.SQLITE_RANGE: PermanentError,
    # Extended codes.
    sqlite3.SQLITE_CONSTRAINT_CHECK: PermanentError,
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: PermanentError,
}


def _kind_of_sqlite(code: int | None) -> Kind | None:
    """The rest is transient: busy, locked, protocol, the other constraints."""
    if code is None:
        return None
    return _KIND_OF_SQLITE.get(code) or _KIND_OF_SQLITE.get(code & 0xFF, TransientError)
