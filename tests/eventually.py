"""Waiting for a condition instead of for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

PAUSE_SECONDS = 0.02
# Only a test that fails waits so long; a machine under load may need much of it.
PATIENCE_SECONDS = 60


def eventually(
    predicate: Callable[[], Result],
    seconds: float = PATIENCE_SECONDS,
    *,
    what: str = "the condition",
) -> Result:
    """The first truthy result. Fails with the last one when the time is over.

    An AssertionError inside the predicate counts as not yet, and is shown at the end.
    """
    until = time.monotonic() + seconds
    while True:
        failure: AssertionError | None = None
        result: Result | None = None
        try:
            result = predicate()
        except AssertionError as error:
            failure = error
        if result:
            return result
        if time.monotonic() > until:
            raise AssertionError(
                f"{what} was not met within {seconds} s; last: {failure or result!r}"
            )
        time.sleep(PAUSE_SECONDS)


def never(
    predicate: Callable[[], object], seconds: float = 1, *, what: str = "the condition"
) -> None:
    """Fails as soon as the predicate holds; passes when the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = predicate()
        if result:
            raise AssertionError(f"{what} was met: {result!r}")
        time.sleep(PAUSE_SECONDS)
