"""Facts that come into the outbox at an even pace, twenty times a second some."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from bench.database import Database, fill_outbox
from bench.facts import read_facts
from bench.timed import Done

TICK_SECONDS = 0.05


def prepare(*, facts: str, a_second: float, moments: str) -> Callable[[], Done]:
    known = list(read_facts(Path(facts)))
    database = Database(os.environ["DATABASE_URL"])
    size = max(1, round(a_second * TICK_SECONDS))

    def work() -> Done:
        began = time.monotonic()
        stored: dict[str, tuple[float, float]] = {}
        for number, start in enumerate(range(0, len(known), size)):
            some = known[start : start + size]
            time.sleep(max(0.0, began + number * TICK_SECONDS - time.monotonic()))
            before = time.time()
            fill_outbox(database, some)
            stored |= dict.fromkeys((fact.event_id for fact in some), (before, time.time()))
        Path(moments).write_text(json.dumps(stored), encoding="ascii")
        return Done(len(known))

    return work
