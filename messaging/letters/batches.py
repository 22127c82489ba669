"""One decision over thousands of letters, carried out in the background piece by piece.

A piece is one transaction: its letters, its lines in the log, and how far the batch got. So a
crash anywhere costs nothing and repeats nothing: the next process goes on behind the last piece.
Several may work at once; the batch's row is locked while a piece is decided, and whoever finds it
locked passes by.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import structlog
from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from messaging.errors import PermanentError, TransientError
from messaging.letters import dead_letters
from messaging.letters.dead_letters import Answer
from messaging.letters.pieces import newest_letter, next_piece
from messaging.letters.search import Selection
from messaging.letters.standing import superseded
from messaging.models import DeadLetter, DeadLetterQuerySet, OperatorBatch, OperatorDecision
from messaging.operating.decision_log import DELIVERY, Operator, entry
from messaging.running.error_texts import sanitised
from messaging.running.inert_text import storable
from messaging.storing.database_errors import kind_of
from messaging.storing.patient_transactions import in_one_transaction

log = structlog.get_logger(__name__)

MOST_REFUSALS_KEPT = 100
WALK_SECONDS = 1.0  # past letters that are not meant, before that much is kept as progress
RIGHTS = {
    "requeue": "messaging.requeue_deadletter",
    "discard": "messaging.discard_deadletter",
    "restore": "messaging.discard_deadletter",
}
VERBS = tuple(RIGHTS)
_SUPERSEDED = "superseded"
_ERRORS_ONLY = "errors_only"

Act = Callable[..., list[Answer]]
Action = OperatorDecision.Action


def begin(
    verb: str,
    selection: Selection,
    *,
    operator: Operator,
    note: str = "",
    force: bool = False,
    only_superseded: bool = False,
    newest_id: int | None = None,
    in_background: bool = True,
    using: str = DEFAULT_DB_ALIAS,
) -> OperatorBatch:
    """Keep the decision, with its line in the log; nothing is done to any letter yet.

    Letters that come later are left out: later than now, or than `newest_id`, the newest letter
    when the operator was asked. Not `in_background`: the caller decides over `letters_of` it.
    Raises ValueError for an unknown verb, or a discard without a reason; OperationalError where
    counting takes too long; TransientError as `dead_letters.requeue` does.
    """
    if verb not in VERBS or (verb == "discard" and not note.strip()):
        raise ValueError(f"{verb} cannot be done so")
    filters = selection.as_json()
    filters |= {_SUPERSEDED: "yes"} if only_superseded else {}
    filters |= {} if selection.search_payload else {_ERRORS_ONLY: "yes"}
    batch = OperatorBatch(
        action=verb,
        operator=storable(operator.name)[:150],
        user_id=operator.user_id,
        by_account=operator.user_id is not None,
        source_ip=operator.source_ip,
        note=storable(note),
        force=force,
        filters=filters,
        newest_id=newest_letter(using=using) if newest_id is None else newest_id,
        in_background=in_background,
    )
    batch.matched = letters_of(batch, using=using).count()

    def keep() -> None:
        batch.pk = None
        batch.save(using=using, force_insert=True)
        detail = {"action": verb, "letters": batch.matched, **({"forced": True} if force else {})}
        line = entry(Action.BEGIN_BATCH, operator, note=note, batch=batch, detail=detail)
        line.save(using=using)

    in_one_transaction(keep, using=using)
    return batch


def matching(
    selection: Selection,
    *,
    newest_id: int,
    only_superseded: bool,
    using: str = DEFAULT_DB_ALIAS,
) -> DeadLetterQuerySet:
    """The letters that a batch with these would be about."""
    letters = selection.letters(DeadLetter.objects.using(using).filter(pk__lte=newest_id))
    return superseded(letters) if only_superseded else letters


def letters_of(batch: OperatorBatch, *, using: str = DEFAULT_DB_ALIAS) -> DeadLetterQuerySet:
    """Those that it is about, as they stand now; done ones may not match any longer."""
    return matching(
        selection_of(batch),
        newest_id=batch.newest_id,
        only_superseded=is_of_superseded(batch),
        using=using,
    )


def selection_of(batch: OperatorBatch) -> Selection:
    """What it was asked for."""
    known = {name: value for name, value in batch.filters.items() if name != _SUPERSEDED}
    errors_only = known.pop(_ERRORS_ONLY, "")
    return Selection.from_json(known, search_payload=not errors_only)


def is_of_superseded(batch: OperatorBatch) -> bool:
    return bool(batch.filters.get(_SUPERSEDED))


def cancel(
    batch_id: int, *, operator: Operator, note: str = "", using: str = DEFAULT_DB_ALIAS
) -> bool:
    """Do nothing more of it, with a line in the log; what is done stays done.

    Waits for the piece under way. False where it had ended already. Raises TransientError.
    """

    def decide() -> bool:
        ended = _waiting(batch_id, using=using).update(
            cancelled_at=Now(), finished_at=Now(), cancelled_by=storable(operator.name)[:150]
        )
        if ended:
            _tell_end(batch_id, operator, note, using=using)
        return bool(ended)

    return in_one_transaction(decide, using=using)


def give_up(batch_id: int, *, because: str, using: str = DEFAULT_DB_ALIAS) -> None:
    """End it for a reason that is kept with it and in the log. Raises TransientError."""

    def decide() -> None:
        said = storable(because)[:500]
        if _waiting(batch_id, using=using).update(finished_at=Now(), ended_because=said):
            _tell_end(batch_id, DELIVERY, said, using=using)

    in_one_transaction(decide, using=using)


def pending(*, using: str = DEFAULT_DB_ALIAS) -> list[int]:
    """The batches that are not finished, the oldest first."""
    waiting = OperatorBatch.objects.using(using).filter(
        in_background=True, finished_at__isnull=True
    )
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def carry_on(batch_id: int, *, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Decide over the next piece, in one transaction; False where nothing was done now.

    That is: it has ended, or another process is at it. A letter whose decision fails for good is
    refused with the error, and the others go on. Whoever began it needs the right still. Tried
    once: raises TransientError and other database errors, and then nothing of the piece was done.
    """
    return in_one_transaction(partial(_carry_on, batch_id, using=using), using=using, tries=1)


def _carry_on(batch_id: int, *, using: str) -> bool:
    waiting = _waiting(batch_id, using=using)
    batch = waiting.select_for_update(no_key=True, skip_locked=True).first()
    if batch is None:
        return False
    if why := _why_forbidden(batch):
        log.warning("batch ended", batch=batch.pk, reason=why)
        give_up(batch.pk, because=why, using=using)
        return False
    row = OperatorBatch.objects.using(using).filter(pk=batch.pk)
    letters = letters_of(batch, using=using)
    walk = partial(next_piece, letters, newest=batch.newest_id)
    piece = walk(after=batch.last_done_id)
    end = time.monotonic() + WALK_SECONDS
    while piece and not piece.ids and time.monotonic() < end:
        piece = walk(after=piece.walked_to)
    if piece is None:
        row.update(finished_at=Now(), started_at=batch.started_at or Now())
        log.info("batch finished", batch=batch.pk, done=batch.done, refused=batch.refused)
        return False
    answers = _decide(_act(batch, using=using), piece.ids)
    refused = [answer for answer in answers if not answer.done]
    kept = [*batch.refusals, *([answer.letter_id, answer.said] for answer in refused)]
    row.update(
        last_done_id=piece.walked_to,
        done=F("done") + len(answers) - len(refused),
        refused=F("refused") + len(refused),
        refusals=kept[:MOST_REFUSALS_KEPT],
        started_at=batch.started_at or Now(),
    )
    return True


def _waiting(batch_id: int, *, using: str) -> QuerySet[OperatorBatch]:
    batches = OperatorBatch.objects.using(using)
    return batches.filter(pk=batch_id, in_background=True, finished_at__isnull=True)


def _why_forbidden(batch: OperatorBatch) -> str:
    """Why its account may not decide so any longer; empty where it may, or has none."""
    if not batch.by_account:
        return ""
    user = batch.user
    if user is None or not user.is_active or not user.is_staff:
        return f"the account of {batch.operator} was closed"
    if not user.has_perm(RIGHTS[batch.action]):
        return f"{batch.operator} has lost the right to {batch.action} letters"
    return ""


def _tell_end(batch_id: int, operator: Operator, note: str, *, using: str) -> None:
    batch = OperatorBatch.objects.using(using).get(pk=batch_id)
    detail = {"action": batch.action, "done": batch.done, "refused": batch.refused}
    line = entry(Action.CANCEL_BATCH, operator, note=note, batch=batch, detail=detail)
    line.save(using=using)


def _act(batch: OperatorBatch, *, using: str) -> Act:
    operator = Operator(batch.operator, batch.user_id, batch.source_ip)
    match batch.action:
        case "requeue":
            act: Act = partial(dead_letters.requeue, note=batch.note, force=batch.force)
        case "discard":
            act = partial(dead_letters.discard, reason=batch.note)
        case _:
            act = partial(dead_letters.restore, note=batch.note)
    return partial(act, operator=operator, batch=batch, using=using)


def _decide(act: Act, piece: Sequence[int]) -> list[Answer]:
    """One by one where the piece fails for good, so that one letter holds up no other."""
    if not piece:
        return []
    try:
        return act(piece)
    except TransientError:
        raise
    except Exception as error:
        if not issubclass(kind_of(error), PermanentError | TransientError):
            raise
        if len(piece) == 1:
            return [Answer(piece[0], done=False, said=sanitised(error))]
    return [answer for letter_id in piece for answer in _decide(act, [letter_id])]
