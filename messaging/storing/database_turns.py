"""The database as a long-running command sees it: bounded turns, pauses while it is away."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import structlog
from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from messaging.errors import (
    ConfigurationError,
    DeliveryError,
    OutageError,
    PermanentError,
    TransientError,
)
from messaging.running.error_texts import sanitised
from messaging.running.process import Backoff, Lifetime
from messaging.storing import schema
from messaging.storing.database_errors import is_busy, kind_of, names_nothing

log = structlog.get_logger(__name__)

_Result = TypeVar("_Result")

# More than the longest statement and lock timeouts of catalogsite.databases together.
TURN_LIMIT_SECONDS = 45.0
# A connection that has just answered is not asked whether it would.
STILL_FRESH_SECONDS = 0.5


class DatabaseTurns:
    """One connection's work outside of requests: fresh before a turn, bounded within it.

    Other databases that the work has used may have been away as well: what is stale of them is
    dropped too, and opened anew when it is needed.
    """

    def __init__(
        self,
        using: str,
        lifetime: Lifetime,
        *,
        prepare: Callable[[BaseDatabaseWrapper], None] | None = None,
    ) -> None:
        """`prepare` is called in the first turn of each new connection."""
        self._using = using
        self._lifetime = lifetime
        self._prepare = prepare
        self._prepared: object = None
        self._backoff = Backoff()
        self._answered_at = float("-inf")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run database work: on a usable connection, for at most TURN_LIMIT_SECONDS.

        Raises OutageError or ConfigurationError where the error tells so, and whatever else
        happened unchanged. What names something that is not there is ConfigurationError where
        the database lacks a table or column of the installed models; otherwise it is that
        statement's own.
        """
        connection = connections[self._using]
        try:
            self._make_usable(connection)
            with self._bounded(connection):
                if self._prepare and connection.connection is not self._prepared:
                    self._prepare(connection)
                    self._prepared = connection.connection
                yield
        except Exception as error:
            self._answered_at = float("-inf")
            verdict = self._nobodys_fault(error)
            if verdict is not None:
                raise verdict from error
            raise
        else:
            self._answered_at = time.monotonic()
            self._backoff.reset()

    def ask(self) -> None:
        """Within a turn: a question that only a database which can be reached answers."""
        with connections[self._using].cursor() as cursor:
            cursor.execute("SELECT 1")

    def insist(
        self,
        work: Callable[[], _Result],
        *,
        still_wanted: Callable[[], object],
        transient_tries: int | None = None,
    ) -> _Result:
        """Do work that no message pays for, in a turn, again after a pause until it is done.

        Raises OutageError when it is not done and not wanted any longer, or when stopping; and
        a failure that is no outage after so many tries, where their number is given: then it may
        be the fault of what is worked on.
        """
        failures = 0
        while True:
            try:
                with self.turn():
                    return work()
            except (Error, OutageError, TransientError) as error:
                kind = kind_of(error)
                if issubclass(kind, ConfigurationError) and transient_tries is None:
                    # Nothing is lacking, and the statement is ours: waiting cannot mend it.
                    raise ConfigurationError(self._told(error)) from error
                if issubclass(kind, PermanentError | ConfigurationError):
                    raise
                failures += not issubclass(kind, OutageError)
                if failures == transient_tries:
                    raise
                outage = OutageError(sanitised(error))
                if self._lifetime.stopping or not still_wanted():
                    raise outage from error
                self.wait_for_return(error, still_wanted=still_wanted)

    def wait_for_return(self, error: Exception, *, still_wanted: Callable[[], object]) -> None:
        """Pause after an outage. Returns for the next try, or when stopping or not wanted."""
        connections.close_all()
        seconds = self._backoff.next_seconds()
        log.warning(
            what_holds_it_up(error), reason=sanitised(error), retry_in_seconds=round(seconds, 1)
        )
        end = time.monotonic() + seconds
        self._lifetime.wait_until(lambda: not still_wanted(), end - time.monotonic())

    def _make_usable(self, connection: BaseDatabaseWrapper) -> None:
        try:
            for other in connections.all(initialized_only=True):
                if other.alias != self._using:
                    with self._bounded(other):
                        other.close_if_unusable_or_obsolete()
            with self._bounded(connection):
                connection.close_if_unusable_or_obsolete()
                if time.monotonic() - self._answered_at < STILL_FRESH_SECONDS:
                    connection.health_check_done = True  # type: ignore[attr-defined]
                # Asks the server; a frozen one would never answer.
                connection.close_if_health_check_failed()
            connection.ensure_connection()
        except OSError as error:
            # Out of descriptors, say: no message has been touched yet.
            raise OutageError(self._told(error)) from error

    def _nobodys_fault(self, error: Exception) -> DeliveryError | None:
        """The outage or wrong configuration that the error comes from, unless it is one itself."""
        if names_nothing(error):
            return self._lack(error)
        kind = kind_of(error)
        if issubclass(kind, OutageError | ConfigurationError) and not isinstance(error, kind):
            return kind(self._told(error))
        return None

    def _lack(self, error: Exception) -> DeliveryError | None:
        try:
            with self._bounded(connections[self._using]):
                lacking = schema.lacks(self._using)
        except Error as unseen:
            kind = kind_of(unseen)
            lasts = issubclass(kind, ConfigurationError)
            return (ConfigurationError if lasts else OutageError)(self._told(unseen))
        if lacking is None:
            return None
        return ConfigurationError(
            f"database {self._using} lacks {lacking}, run `manage.py migrate`: {sanitised(error)}"
        )

    def _told(self, error: Exception) -> str:
        return f"database {self._using}: {sanitised(error)}"

    def _bounded(self, connection: BaseDatabaseWrapper) -> AbstractContextManager[None]:
        return self._lifetime.database_turn(_fileno(connection), limit_seconds=TURN_LIMIT_SECONDS)


def what_holds_it_up(error: Exception) -> str:
    """As the log says it: other work, the store, or what nobody foresaw."""
    if is_busy(error) or (isinstance(error.__cause__, Error) and is_busy(error.__cause__)):
        return "database busy"
    return "database away" if issubclass(kind_of(error), OutageError) else "database work failed"


def _fileno(connection: BaseDatabaseWrapper) -> int | None:
    raw = connection.connection
    if raw is None or connection.vendor != "postgresql" or raw.closed:
        return None
    return int(raw.fileno())
