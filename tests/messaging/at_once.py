"""Several threads with a connection each, let go at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")


def at_once(*works: Callable[[], Result], times: int = 1) -> list[Result]:
    """What each work gave, in order. Raises what one of them raised."""
    works = works * times
    start = threading.Barrier(len(works), timeout=20)

    def work(index: int) -> Result:
        start.wait()
        try:
            return works[index]()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(60) for future in [pool.submit(work, n) for n in range(len(works))]]
