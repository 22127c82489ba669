"""What every long-running command shares: signals, a migrated database, exit codes."""

import sys
from collections.abc import Callable

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.migrations.executor import MigrationExecutor

from messaging.errors import ConfigurationError
from messaging.process import DONE, MISCONFIGURED, Lifetime


def run_to_exit(work: Callable[[Lifetime], int], *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Run the work under signals and leave with its exit code.

    A configuration fault ends with one line on standard error and exit code 3.
    """
    try:
        with Lifetime() as lifetime:
            _require_migrations(using)
            code = work(lifetime)
    except ConfigurationError as error:
        raise CommandError(str(error), returncode=MISCONFIGURED) from error
    if code != DONE:
        sys.exit(code)


def _require_migrations(using: str) -> None:
    try:
        executor = MigrationExecutor(connections[using])
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return  # The database is away: the work waits for it, and finds missing tables itself.
    if missing:
        raise ConfigurationError(
            f"database {using} lacks {len(missing)} migrations: run `manage.py migrate`"
        )
