"""Commands can wait where a person at a page would be asked to try again."""

import time
from collections.abc import Callable
from typing import TypeVar

from materials.refusals import TryAgain

ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.2

Result = TypeVar("Result")


def patiently(act: Callable[[], Result]) -> Result:
    """Do the act; where the database is busy, again after a growing pause, five times in all."""
    for tried in range(ATTEMPTS - 1):
        try:
            return act()
        except TryAgain:
            time.sleep(FIRST_PAUSE_SECONDS * 2**tried)
    return act()
