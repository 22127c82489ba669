"""How the materials' commands end: between two materials, and plainly without a database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError

from messaging.process import FAILED, Lifetime


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Gives a function that is true once SIGTERM or SIGINT asked for an end in good order."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    with Lifetime(catch_signals=in_main_thread) as life:
        yield lambda: life.stopping


@contextmanager
def database_is_away_fails() -> Iterator[None]:
    """One clear line and exit 1 in place of a traceback. The driver's text may name the URL."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise CommandError(
            "The database cannot be used now. What was done so far is kept; "
            "run the command again for the rest.",
            returncode=FAILED,
        ) from error
