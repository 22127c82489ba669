"""Receipts and effects in one transaction: what makes a repeated delivery harmless.

The unique keys of `InboxReceipt` decide, not a look beforehand: a receipt that could be
inserted is a new event, whatever other processes do at the same moment.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from django.db import Error, models, transaction
from django.db.models import F

from messaging.envelope import Event
from messaging.errors import FactConflict, OutageError, TransientError
from messaging.handling import effects, receipts
from messaging.handling.effects import Effects, Refusals
from messaging.models import InboxReceipt
from messaging.registry import Consumer, Outcome
from messaging.running.error_texts import sanitised
from messaging.storing.database_errors import kind_of


def handle(
    consumer: Consumer, events: Sequence[Event], *, lately: Refusals | None = None
) -> list[Outcome | Exception]:
    """Apply events in order of arrival, each at most once ever; commits before it returns.

    Gives one outcome an event: applied, duplicate, stale, or why it changed nothing: the
    FactConflict that it is, or the error of a handler that refuses it alone. All receipts and
    effects are committed together, or, when anything is raised, not at all. What the handler
    says of a single event is raised. Raises OutageError when the transaction cannot even begin.
    """
    with ExitStack() as stack:
        _begin(stack, consumer.database)
        outcomes: dict[int, Outcome | Exception] = {}
        candidates = _first_of_each_fact(events)
        new_ids = receipts.insert(consumer, [events[index] for index in sorted(candidates)])
        fresh = {index for index in candidates if events[index].event_id in new_ids}
        contested = [index for index in range(len(events)) if index not in fresh]
        if contested:
            settled = _settle_contested(consumer, [events[index] for index in contested])
            for index, outcome in zip(contested, settled, strict=True):
                if outcome is None:
                    fresh.add(index)
                else:
                    outcomes[index] = outcome
        in_order = [events[index] for index in sorted(fresh)]
        found = effects.apply(consumer, in_order, lately or Refusals()) if in_order else Effects()
        if found.refused:
            _take_back(consumer, events, found.refused)
        if found.stale_ids:
            _receipts(consumer).filter(event_id__in=found.stale_ids).update(outcome=Outcome.STALE)
        for index in fresh:
            event_id = events[index].event_id
            stale = event_id in found.stale_ids
            outcomes[index] = found.refused.get(
                event_id, Outcome.STALE if stale else Outcome.APPLIED
            )
    return [outcomes[index] for index in range(len(events))]


def _begin(stack: ExitStack, using: str) -> None:
    try:
        stack.enter_context(transaction.atomic(using=using))
    except Error as error:
        # SQLite's one write lock is held for longer than the busy timeout. No event has been
        # touched yet, so none may pay for it.
        if kind_of(error) is TransientError:
            raise OutageError(f"no transaction could begin: {sanitised(error)}") from error
        raise


def _first_of_each_fact(events: Sequence[Event]) -> set[int]:
    """The events that no earlier one of the same batch could be a repetition of."""
    indexes, ids, revisions = set(), set(), set()
    for index, event in enumerate(events):
        revision = (event.material_id, event.revision)
        if event.event_id not in ids and revision not in revisions:
            indexes.add(index)
        ids.add(event.event_id)
        revisions.add(revision)
    return indexes


def _settle_contested(
    consumer: Consumer, events: Sequence[Event]
) -> list[Outcome | FactConflict | None]:
    """The outcomes of events whose id, or material and revision, is known; None for a new one."""
    known = _lock_known(consumer, {event.event_id for event in events})
    repeated: Counter[str] = Counter()
    outcomes: list[Outcome | FactConflict | None] = []
    for event in events:
        fingerprint = known.get(event.event_id)
        if fingerprint is None:
            conflict = _add_contested(consumer, event)
            outcomes.append(conflict)
            if conflict is None:
                known[event.event_id] = event.fingerprint
        elif fingerprint != event.fingerprint:
            said = f"another body was handled under eventId {event.event_id}"
            outcomes.append(FactConflict(said))
        else:
            repeated[event.event_id] += 1
            outcomes.append(Outcome.DUPLICATE)
    _count_duplicates(consumer, repeated)
    return outcomes


def _lock_known(consumer: Consumer, event_ids: set[str]) -> dict[str, bytes]:
    """Fingerprints by id, their rows locked in the order of ids."""
    rows = _receipts(consumer).filter(event_id__in=event_ids).order_by("event_id")
    locked = rows.select_for_update(no_key=True).values_list("event_id", "fingerprint")
    return {str(event_id): bytes(fingerprint) for event_id, fingerprint in locked}


def _add_contested(consumer: Consumer, event: Event) -> FactConflict | None:
    """Insert the receipt of an event with a new id, unless its revision tells otherwise."""
    first = (
        _receipts(consumer)
        .filter(material_id=event.material_id, revision=event.revision, names_revision=True)
        .first()
    )
    if first is not None and bytes(first.content_fingerprint) != event.content_fingerprint:
        return FactConflict(
            f"revision {event.revision} of {event.material_id} is eventId {first.event_id}, "
            "with another content"
        )
    if not receipts.insert(consumer, [event], names_revision=first is None):
        raise TransientError("another process handles the same fact at this moment")
    return None


def _count_duplicates(consumer: Consumer, repeated: Counter[str]) -> None:
    for times in set(repeated.values()):
        ids = [event_id for event_id, count in repeated.items() if count == times]
        _receipts(consumer).filter(event_id__in=ids).update(duplicates=F("duplicates") + times)


def _take_back(
    consumer: Consumer, events: Sequence[Event], refused: Mapping[str, Exception]
) -> None:
    """Remove the receipts of what the handler refused.

    Raises one of its errors where another event of the batch was judged by such a receipt.
    """
    revisions = {
        (event.material_id, event.revision) for event in events if event.event_id in refused
    }
    judged = sum(
        event.event_id in refused or (event.material_id, event.revision) in revisions
        for event in events
    )
    if judged > len(refused):
        raise next(iter(refused.values()))
    _receipts(consumer).filter(event_id__in=list(refused)).delete()


def _receipts(consumer: Consumer) -> models.QuerySet[InboxReceipt]:
    return InboxReceipt.objects.using(consumer.database).filter(consumer=consumer.name)
