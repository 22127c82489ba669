"""The limit of the relay: the same bodies, confirmed, without a database (`bench.pipelined`)."""

import os
from collections.abc import Callable
from pathlib import Path

from bench.facts import read_facts
from bench.pipelined import publish
from bench.timed import Done


def prepare(*, facts: str, exchange: str) -> Callable[[], Done]:
    bodies = list(read_facts(Path(facts)))

    def work() -> Done:
        publish(os.environ["AMQP_URL"], bodies, exchange=exchange)
        return Done(len(bodies))

    return work
