"""What every long-running command shares: signals, a migrated database, exit codes."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from messaging.errors import ConfigurationError, OutageError
from messaging.running.exit_codes import DONE, MISCONFIGURED
from messaging.running.process import Lifetime
from messaging.storing.database_turns import DatabaseTurns


def run_to_exit(
    work: Callable[[Lifetime], int],
    *,
    using: str | None = DEFAULT_DB_ALIAS,
    once: bool = False,
) -> None:
    """Run the work under signals and leave with its exit code.

    With `once` it is work with an end: what a stop finds in the middle of a step that does not
    end is left there, with exit code 1. First waits for the database, if the work needs one, and
    looks whether it is migrated. A configuration fault ends with one line on standard error and
    exit code 3.
    """
    try:
        with Lifetime(one_shot=once) as lifetime, what_is_loaded_left_alone():
            code = _run(work, lifetime, using)
    except ConfigurationError as error:
        raise CommandError(str(error), returncode=MISCONFIGURED) from error
    if code != DONE:
        sys.exit(code)


@contextmanager
def what_is_loaded_left_alone() -> Iterator[None]:
    """Within it, garbage collection does not look through what was there before.

    A batch makes thousands of objects; for each so many the whole of Django would be looked
    through again. Source: `gc.freeze` in Python's library reference.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _run(work: Callable[[Lifetime], int], lifetime: Lifetime, using: str | None) -> int:
    try:
        if using is not None:
            DatabaseTurns(using, lifetime).insist(
                lambda: _require_migrations(using), still_wanted=lambda: True
            )
        return work(lifetime)
    except OutageError:
        if lifetime.stopping:
            return DONE
        raise


def _require_migrations(using: str) -> None:
    executor = MigrationExecutor(connections[using])
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise ConfigurationError(
            f"database {using} lacks {len(missing)} migrations: run `manage.py migrate`"
        )
