"""What is unhealthy now, looked for as a page may: in the database, and shortly at the broker."""

from collections.abc import Sequence
from dataclasses import dataclass

from messaging.console.broker_look import BrokerLook, look
from messaging.models import DeadLetter, Pause
from messaging.operating import pauses
from messaging.operating.problems import Kind, Problem
from messaging.operating.status import problems_of
from messaging.operating.tallies import OutboxState, read_outbox

MOST_LETTERS = 10_000


@dataclass(frozen=True)
class Health:
    """The figures, of the open letters at most MOST_LETTERS, and what is wrong about them."""

    broker: BrokerLook
    outbox: OutboxState
    letters: int
    paused: Sequence[Pause]
    problems: Sequence[Problem]


def look_around() -> Health:
    """Five statements, and the broker as it was a few seconds ago."""
    broker = look()
    outbox = read_outbox()
    paused = pauses.active()
    letters = DeadLetter.objects.open().order_by()[:MOST_LETTERS].count()
    problems = problems_of(outbox, letters=letters, paused=paused, depths=broker.queues)
    if broker.problem:
        problems.append(Problem(Kind.BROKER, said=broker.problem))
    return Health(broker, outbox, letters, paused, problems)
