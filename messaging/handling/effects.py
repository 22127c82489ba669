"""The effects of a batch inside its transaction, and which of its events the handler refuses.

`inbox` calls it between the receipts and the commit. A refusal is found behind savepoints, so
that what the handler took in before stays, and one commit serves all of it. A crash at any point
here leaves nothing: receipts and effects are committed together or not at all.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connections, transaction
from django.db.transaction import TransactionManagementError

from messaging.envelope import Event
from messaging.errors import ConfigurationError, OutageError
from messaging.registry import Consumer
from messaging.storing import schema
from messaging.storing.database_errors import is_busy, kind_of, names_nothing

# So long may the search for refusals keep a transaction open; then it is left to transactions
# of their own, between which a worker can stop.
SEARCH_SECONDS = 2.0


@dataclass
class Effects:
    """Ids of what was applied and turned out stale, and of what was left out, with the reason."""

    stale_ids: set[str] = field(default_factory=set)
    refused: dict[str, Exception] = field(default_factory=dict)


class Refusals:
    """What the handler refused lately, and how often: what a worker keeps from batch to batch."""

    def __init__(self) -> None:
        self._seen = self._refused = 0
        self._materials: dict[str, None] = {}  # the latest last

    def pieces(self, events: Sequence[Event]) -> Iterator[Sequence[Event]]:
        """All of them, in order, in the pieces that are best tried first.

        A material of which an event was refused will be refused again, likely: its events go
        alone. Of the others a piece is so large that it goes through or not at even odds.
        """
        size = len(events)
        if self._refused:
            size = max(1, int(_EVEN_ODDS * self._seen / self._refused))
        piece: list[Event] = []
        for event in events:
            alone = event.material_id in self._materials
            if piece and (alone or len(piece) == size):
                yield piece
                piece = []
            piece.append(event)
            if alone:
                yield piece
                piece = []
        if piece:
            yield piece

    def note(self, events: Sequence[Event], refused: Collection[str]) -> None:
        """What became of these; `refused` are ids."""
        for event in events:
            foreseen = event.material_id in self._materials
            if event.event_id in refused:
                self._refused += not foreseen
                self._materials[event.material_id] = None
            elif foreseen:
                del self._materials[event.material_id]
        self._seen += len(events)
        while self._seen > _EVENTS_REMEMBERED:
            self._seen //= 2
            self._refused //= 2
        while len(self._materials) > _MATERIALS_REMEMBERED:
            del self._materials[next(iter(self._materials))]


_EVENTS_REMEMBERED = 2000
_MATERIALS_REMEMBERED = 1000
_EVEN_ODDS = 0.69  # ln 2: (1 - share) ** (ln 2 / share) is a half


def apply(consumer: Consumer, events: Sequence[Event], lately: Refusals) -> Effects:
    """Let the handler take in these events, and leave out each that it refuses when alone.

    Needs the caller's transaction. One event is not tried behind a savepoint: its error is
    raised, and so is everything that is no event's own fault: an outage, a wrong configuration,
    a lock or deadlock that a new transaction may not meet, a transaction that cannot go on.
    """
    if len(events) == 1:
        return Effects(_call(consumer, events))
    search = _Search(consumer)
    ordered = _in_lock_order(consumer, events)
    for piece in lately.pieces(ordered):
        search.try_all(piece)
    lately.note(ordered, search.found.refused.keys())
    return search.found


class _Search:
    """One batch, piece by piece."""

    def __init__(self, consumer: Consumer) -> None:
        self.found = Effects()
        self._consumer = consumer
        self._connection = connections[consumer.database]
        self._end = time.monotonic() + SEARCH_SECONDS
        self._is_complete = False  # the schema, as far as that was looked at

    def try_all(self, events: Sequence[Event]) -> bool:
        """Take in what can be taken in, in order; whether that was everything at once."""
        if self._takes(events):
            return True
        if len(events) > 1:
            self._divide(events)
        return False

    def _divide(self, events: Sequence[Event]) -> None:
        middle = len(events) // 2
        rest = events[middle:]
        if self.try_all(events[:middle]) and len(rest) > 1:
            # All of it failed and this half did not: the other half need not be tried whole.
            self._divide(rest)
        else:
            self.try_all(rest)

    def _takes(self, events: Sequence[Event]) -> bool:
        try:
            with transaction.atomic(using=self._consumer.database):
                stale_ids = _call(self._consumer, events)
        except Exception as error:
            if self._is_for_all(error):
                raise
            if len(events) == 1:
                self.found.refused[events[0].event_id] = error
            return False
        self.found.stale_ids |= stale_ids
        return True

    def _is_for_all(self, error: Exception) -> bool:
        connection = self._connection
        return (
            connection.needs_rollback
            or connection.closed_in_transaction
            or is_busy(error)
            or time.monotonic() > self._end
            or self._is_outage_or_set_up_wrongly(error)
        )

    def _is_outage_or_set_up_wrongly(self, error: Exception) -> bool:
        if not names_nothing(error):
            return issubclass(kind_of(error), OutageError | ConfigurationError)
        # A handler's statement may be wrong for one event; without a table all of them are.
        self._is_complete = self._is_complete or schema.lacks(self._consumer.database) is None
        return not self._is_complete


def _call(consumer: Consumer, events: Sequence[Event]) -> set[str]:
    stale_ids = consumer.apply(events, consumer.database)
    if transaction.get_rollback(consumer.database):
        # It caught an error that its transaction did not survive; a commit would keep nothing.
        raise TransactionManagementError("the handler left a transaction that can only roll back")
    return stale_ids


def _in_lock_order(consumer: Consumer, events: Sequence[Event]) -> Sequence[Event]:
    """By material where it is only a material's own order that counts, else as they arrived.

    Several pieces share a transaction and its locks: without that order two workers, each with
    rows that the other wants next, would end in a deadlock.
    """
    if consumer.newest_wins:
        return sorted(events, key=lambda event: event.material_id)
    return events
