"""What operators decide about dead letters: requeue, discard, restore; see also `corrections`.

Each call is one transaction: states, the decision log, the outbox row and the new attempt budget
together. Who holds a letter after each step of a requeue: before the commit nothing has changed;
after it the outbox holds the redrive, and the relay's own crash points apply (`relay`); after
the broker's confirm the consumer's queue holds it, and the worker's apply (`worker`). The letter
stays `requeued` until its receipt proves the end (`resolution`), or a new death opens it again
(`intake`). So a crash anywhere, a second click or a second operator can cost a repetition
on the wire, which the receipt makes harmless, and never the letter.
"""

from collections.abc import Iterable

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _

from messaging import outbox
from messaging.letters import redrives
from messaging.letters.at_hand import Answer, AtHand
from messaging.letters.redrives import Redrive
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision
from messaging.operating.decision_log import Operator
from messaging.storing.patient_transactions import in_one_transaction

__all__ = ["Answer", "discard", "requeue", "restore"]

Action = OperatorDecision.Action
State = DeadLetter.State


def requeue(
    ids: Iterable[int],
    *,
    operator: Operator,
    note: str = "",
    force: bool = False,
    even_in_vain: bool = False,
    bulk: bool = False,
    batch: OperatorBatch | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Answer]:
    """Send letters to their consumer again, byte for byte as they died; all in one transaction.

    Refused, each with its reason: what is not open and, unless `even_in_vain`, what would die
    again at once. A requeued letter may be requeued again where its redrive is parked. `force`
    sends what is in vain too, and what got lost on its way, as it may have once it was sent.
    `bulk` says that these are some of more than `outbox.MOST_AT_ONCE`, as a batch of more says
    by itself: they go after what somebody waits for. Raises TransientError, and nothing has
    changed, when the database is too busy.
    """
    # By the whole decision and not by this piece of it, which may hold few of its letters.
    is_bulk = bulk or (batch is not None and batch.matched > outbox.MOST_AT_ONCE)

    def decide() -> list[Answer]:
        letters = AtHand(ids, payload=True, using=using)
        sent: list[Redrive] = []
        for letter in letters:
            redrive = redrives.prepare(letter)
            vain = redrive.why_in_vain()
            if letter.state == State.OPEN:
                refusal = redrive.why_impossible() or ("" if force or even_in_vain else vain)
            elif letter.state == State.REQUEUED and (
                letters.is_parked(letter) or (force and not letters.is_waiting(letter))
            ):
                refusal = redrive.why_impossible()
            else:
                refusal = letters.why_settled(letter)
            if letters.answer(letter, refusal, done=" ".join(filter(None, [_("Requeued."), vain]))):
                sent.append(redrive)
        redrives.send(sent, using=using, bulk=is_bulk)
        detail = {"forced": True} if force else {}
        letters.log(Action.REQUEUE, operator, note=note, batch=batch, detail=detail)
        return letters.answers()

    return in_one_transaction(decide, using=using)


def discard(
    ids: Iterable[int],
    *,
    operator: Operator,
    reason: str,
    batch: OperatorBatch | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Answer]:
    """Settle letters without sending them; `restore` takes it back. All in one transaction.

    Only what is open, or requeued and parked; a redrive that has not gone yet is taken back.
    Raises ValueError without a reason, and TransientError as `requeue` does.
    """
    if not reason.strip():
        raise ValueError("a discard needs a reason")

    def decide() -> list[Answer]:
        letters = AtHand(ids, using=using)
        for letter in letters:
            allowed = letter.state == State.OPEN or letters.is_parked(letter)
            refusal = "" if allowed else letters.why_settled(letter)
            letters.answer(letter, refusal, done=_("Discarded."))
        redrives.take_back(letters.done(), using=using)
        letters.move(State.DISCARDED)
        letters.log(Action.DISCARD, operator, note=reason.strip(), batch=batch)
        return letters.answers()

    return in_one_transaction(decide, using=using)


def restore(
    ids: Iterable[int],
    *,
    operator: Operator,
    note: str = "",
    batch: OperatorBatch | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Answer]:
    """Open discarded letters again, all in one transaction. Raises TransientError as `requeue`."""

    def decide() -> list[Answer]:
        letters = AtHand(ids, using=using)
        for letter in letters:
            discarded = letter.state == State.DISCARDED
            refusal = "" if discarded else letters.why_settled(letter)
            letters.answer(letter, refusal, done=_("Restored: it is open again."))
        letters.move(State.OPEN)
        letters.log(Action.RESTORE, operator, note=note, batch=batch)
        return letters.answers()

    return in_one_transaction(decide, using=using)
