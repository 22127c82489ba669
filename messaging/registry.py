"""What a consumer is, and which event types there are.

Apps declare both in their `consumers.py` and `events.py`; `messaging.apps` finds the
`consumers` modules at start. Nothing here knows what a material is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from messaging.envelope import Event

# What the relay is called where consumers are, among what can be paused.
RELAY = "relay_outbox"
MAX_PATTERN_BYTES = 255  # of a routing key, by AMQP


class Outcome(StrEnum):
    """What became of one delivered event; the first three are kept with its receipt."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    STALE = "stale"
    RETRIED = "retried"
    DEAD = "dead"


# Called inside the transaction that also holds the receipts, with events that this consumer
# has never handled: in order of arrival, or, where the newest revision wins, each material's own
# in that order. Returns the ids of the events that changed nothing because the projection already
# knows an equal or newer revision. Must not commit, must lock rows in a fixed order (sorted
# keys), and may raise anything: what it did in that call is rolled back, and it is called again
# with fewer of them.
Apply = Callable[[Sequence[Event], str], set[str]]

# What this consumer knows of one material at this moment, as JSON, for an operator to compare
# before and after. Reads alone. Gets the material's id and the database.
Describe = Callable[[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Consumer:
    """One subscriber of facts, with its own queues, receipts and projection."""

    name: str
    patterns: tuple[str, ...]
    apply: Apply
    database: str = DEFAULT_DB_ALIAS
    newest_wins: bool = False  # an event is stale where a newer revision was applied
    describe: Describe | None = None

    def takes(self, event_type: str) -> bool:
        """Whether events of that type are routed to its queue.

        As a topic exchange matches: `*` is one word, `#` any number of them
        (https://www.rabbitmq.com/tutorials/tutorial-five-python).
        """
        words = event_type.split(".")
        return any(_matches(pattern.split("."), words) for pattern in self.patterns)


_consumers: dict[str, Consumer] = {}
_event_types: dict[tuple[str, int], type[Any]] = {}


def register_consumer(consumer: Consumer) -> None:
    """Make `consume NAME` and its queues known. A name may be registered once.

    Raises ValueError too for a name that queues, rows or pauses could not tell from another, and
    for a consumer without a pattern that a queue can be bound with.
    """
    if not _NAME.fullmatch(consumer.name) or consumer.name == RELAY:
        raise ValueError(
            f"no consumer may be called {consumer.name!r}: a name is a small letter and up to 31 "
            f"more of a-z, 0-9, '_' and '-', and not {RELAY!r}"
        )
    if not consumer.patterns or not all(map(_can_bind, consumer.patterns)):
        raise ValueError(
            f"consumer {consumer.name!r} needs patterns, each of 1 to {MAX_PATTERN_BYTES} bytes"
        )
    if consumer.name in _consumers:
        raise ValueError(f"consumer {consumer.name!r} is registered twice")
    _consumers[consumer.name] = consumer


def register_event_type(name: str, *, version: int, data: type[Any]) -> None:
    """Make one `type` and `schemaVersion` decodable; `data` is a msgspec Struct."""
    if _event_types.setdefault((name, version), data) is not data:
        raise ValueError(f"event type {name!r} version {version} is registered twice")


def consumers() -> tuple[Consumer, ...]:
    """Every registered consumer, sorted by name."""
    return tuple(_consumers[name] for name in sorted(_consumers))


def consumer(name: str) -> Consumer:
    """The consumer of that name. Raises LookupError that lists the known names."""
    try:
        return _consumers[name]
    except KeyError:
        known = ", ".join(sorted(_consumers)) or "none"
        raise LookupError(f"no consumer {name!r}; there are: {known}") from None


def event_types() -> Mapping[tuple[str, int], type[Any]]:
    """(type, schemaVersion) -> the msgspec Struct of its `data`."""
    return _event_types


# No dot: `catalog.retry` would have the retry queue of `catalog` for its own.
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


def _matches(pattern: Sequence[str], words: Sequence[str]) -> bool:
    if not pattern:
        return not words
    first, rest = pattern[0], pattern[1:]
    if first == "#":
        return any(_matches(rest, words[start:]) for start in range(len(words) + 1))
    return bool(words) and first in ("*", words[0]) and _matches(rest, words[1:])


def _can_bind(pattern: str) -> bool:
    return 1 <= len(pattern.encode()) <= MAX_PATTERN_BYTES
