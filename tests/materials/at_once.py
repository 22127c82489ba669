"""Many acts at the same moment, each on a connection of its own."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from materials.refusals import ActionRefused

Result = TypeVar("Result")


def at_once(acts: Sequence[Callable[[], Result]]) -> list[Result | ActionRefused]:
    """Start all acts together; what each gave or how it was refused. Other errors are raised."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], Result]) -> Result | ActionRefused:
        try:
            barrier.wait(timeout=30)
            return act()
        except ActionRefused as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))
