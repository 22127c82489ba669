"""How the materials' commands end: between two materials, and plainly without a database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error

from messaging.running.exit_codes import FAILED, MISCONFIGURED
from messaging.running.process import Lifetime
from messaging.storing.database_errors import SET_UP_WRONGLY, is_set_up_wrongly


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Gives a function that is true once SIGTERM or SIGINT asked for an end in good order.

    An act that does not end soon after that is given up, and the exit code is 1.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    with Lifetime(catch_signals=in_main_thread, one_shot=True) as life:
        yield lambda: life.stopping


@contextmanager
def database_faults_told() -> Iterator[None]:
    """One clear line in place of a traceback: exit 1 where the database is away, 3 where it is
    not set up. The driver's own text stays out of it, because it may hold part of the URL."""
    try:
        yield
    except Error as error:
        if is_set_up_wrongly(error):
            raise CommandError(SET_UP_WRONGLY, returncode=MISCONFIGURED) from error
        raise CommandError(
            "The database cannot be used now. What was done so far is kept; "
            "run the command again for the rest.",
            returncode=FAILED,
        ) from error
