"""Requeued letters become resolved once their receipt is there.

The receipt is the proof: it was committed with the effect. A look at the broker, or the relay's
mark that a copy was sent, proves nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from messaging import registry
from messaging.letters import redrives
from messaging.models import DeadLetter, InboxReceipt, OperatorDecision
from messaging.operating.decision_log import DELIVERY, entry
from messaging.registry import Consumer

State = DeadLetter.State

_CHUNK = 500
_READ = ("event_id", "sent_event_id", "state", "requeued_at", "sent_fingerprint")


def resolve_delivered(*, using: str) -> int:
    """Resolve what was requeued and has been handled since; how many there were.

    In short transactions, each with its lines in the log. Also a letter that a late copy of its
    earlier death has opened again while the requeued one was on its way.
    """
    return sum(
        _resolve(letters, consumer, using=using)
        for consumer in registry.consumers()
        for letters in _chunks(consumer, using=using)
    )


def _chunks(consumer: Consumer, *, using: str) -> Iterator[list[DeadLetter]]:
    last = 0
    waiting = (
        DeadLetter.objects.using(using)
        .filter(requeued_at__isnull=False, state__in=[State.OPEN, State.REQUEUED])
        .filter(Q(event_id__isnull=False) | Q(sent_event_id__isnull=False))
        .filter(consumer=consumer.name)
        .only(*_READ)
        .order_by("pk")
    )
    while letters := list(waiting.filter(pk__gt=last)[:_CHUNK]):
        yield letters
        last = letters[-1].pk


def _resolve(letters: Sequence[DeadLetter], consumer: Consumer, *, using: str) -> int:
    awaited = {letter.awaited_event_id for letter in letters}
    receipts = _receipts(consumer, {event_id for event_id in awaited if event_id})
    handled = [letter.pk for letter in letters if _proof(letter, receipts)]
    if not handled:
        return 0
    with transaction.atomic(using=using):
        rows = DeadLetter.objects.using(using).filter(
            pk__in=handled, state__in=[State.OPEN, State.REQUEUED]
        )
        locked = rows.only(*_READ).order_by("pk").select_for_update(no_key=True)
        proofs = {letter: _proof(letter, receipts) for letter in locked}  # as it is now
        lines = [
            entry(
                OperatorDecision.Action.RESOLVED,
                DELIVERY,
                letter=letter,
                detail={"outcome": proof.outcome, "handledAt": proof.handled_at.isoformat()},
            )
            for letter, proof in proofs.items()
            if proof is not None
        ]
        rows.filter(pk__in=[line.letter_id for line in lines]).update(
            state=State.RESOLVED, changed_at=Now()
        )
        OperatorDecision.objects.using(using).bulk_create(lines)
    return len(lines)


def _receipts(consumer: Consumer, event_ids: Collection[UUID]) -> dict[UUID, InboxReceipt]:
    receipts = InboxReceipt.objects.using(consumer.database)
    found = receipts.filter(consumer=consumer.name, event_id__in=event_ids)
    return {receipt.event_id: receipt for receipt in found}


def _proof(letter: DeadLetter, receipts: Mapping[UUID, InboxReceipt]) -> InboxReceipt | None:
    """The receipt of what was sent; that of another body under the same eventId proves nothing."""
    awaited = letter.awaited_event_id
    receipt = receipts.get(awaited) if awaited else None
    if receipt is None or letter.requeued_at is None:
        return None
    if bytes(receipt.fingerprint) != _fingerprint_sent(letter):
        return None
    since = receipt.handled_at >= letter.requeued_at
    return receipt if since or letter.state == State.REQUEUED else None


def _fingerprint_sent(letter: DeadLetter) -> bytes | None:
    """Of the event that was sent. What was none when it was sent may have become one since, by an
    upgrade of the consumer; so it is looked at again."""
    if letter.sent_fingerprint is not None:
        return bytes(letter.sent_fingerprint)
    event = redrives.prepare(letter).event
    return event.fingerprint if event else None
