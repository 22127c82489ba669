"""A transaction that stands back for others: for decisions and cleaning up, which can wait."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, transaction
from django.utils.translation import gettext as _

from messaging.errors import TransientError
from messaging.storing.database_errors import kind_of

_TRIES = 4
_FIRST_PAUSE_SECONDS = 0.1

_Result = TypeVar("_Result")


def in_one_transaction(
    decide: Callable[[], _Result], *, using: str, tries: int = _TRIES
) -> _Result:
    """Decide in a transaction; where a lock or deadlock prevents it, again after a pause.

    Raises TransientError, and nothing has changed, when the database stays busy. Within a
    transaction of the caller it is tried once.
    """
    tries_left = 0 if transaction.get_connection(using).in_atomic_block else tries - 1
    pause_seconds = _FIRST_PAUSE_SECONDS
    while True:
        try:
            with transaction.atomic(using=using):
                return decide()
        except Error as error:
            if kind_of(error) is not TransientError:
                raise
            if not tries_left:
                raise TransientError(
                    _("The database is busy with other work. Nothing was changed: try again.")
                ) from error
        tries_left -= 1
        time.sleep(pause_seconds)
        pause_seconds *= 2
