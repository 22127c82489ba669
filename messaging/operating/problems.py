"""What is unhealthy: a sentence for the shell, and a kind, for which pages have their own words."""

from enum import Enum
from typing import Any

from messaging.running.inert_text import inert


class Kind(Enum):
    """Each with its sentence, in which the named values stand."""

    OUTBOX_FAILED = "outbox: {count} failed, to be tried again by an operator"
    OUTBOX_LATE = "outbox: the oldest of {count} pending waits for {seconds:.0f} s"
    LETTERS_OPEN = "dead letters: {count} open, waiting for a decision"
    PAUSED = "{target}: paused by {operator} since {since}: {reason}"
    PAUSED_UNTIL = "{target}: paused by {operator} since {since} until {until}: {reason}"
    QUEUE_MISSING = "queue {name}: missing; run declare_topology"
    NO_CONSUMER = "queue {name}: no consumer"
    UNCOLLECTED = "queue {name}: {count} dead, to be collected"
    BROKER = "broker: {said}"


class Problem(str):
    """The sentence; `kind` and `named` are what it is made of."""

    __slots__ = ("kind", "named")

    kind: Kind
    named: dict[str, Any]

    def __new__(cls, kind: Kind, **named: Any) -> "Problem":
        problem = super().__new__(cls, inert(kind.value.format(**named)))
        problem.kind, problem.named = kind, named
        return problem
