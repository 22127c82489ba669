"""How the operators' commands fail: one clear line and exit 1 or 3, never a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error

from messaging.errors import TransientError
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import FAILED, MISCONFIGURED
from messaging.storing.database_errors import SET_UP_WRONGLY, is_set_up_wrongly


@contextmanager
def plain_failures() -> Iterator[None]:
    """Raises CommandError where the database is away or stays busy."""
    try:
        yield
    except TransientError as error:
        raise CommandError(str(error), returncode=FAILED) from error
    except Error as error:
        if is_set_up_wrongly(error):
            raise CommandError(SET_UP_WRONGLY, returncode=MISCONFIGURED) from error
        raise CommandError(
            f"the database cannot be used now: {sanitised(error)}", returncode=FAILED
        ) from error
