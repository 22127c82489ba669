"""One decision over thousands of letters, carried out in the background piece by piece.

A piece is one transaction: its letters, its lines in the log, and how far the batch got. So a
crash anywhere costs nothing and repeats nothing: the next process goes on behind the last piece.
Several may work at once; the batch's row is locked while a piece is decided.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog
from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, Max
from django.db.models.functions import Now

from messaging import dead_letters
from messaging.database_errors import kind_of, sanitised
from messaging.dead_letters import MOST_AT_ONCE, MOST_BYTES_AT_ONCE, Answer
from messaging.decision_log import Operator
from messaging.errors import PermanentError, TransientError
from messaging.letter_search import Selection
from messaging.models import DeadLetter, DeadLetterQuerySet, OperatorBatch
from messaging.patient_transactions import in_one_transaction
from messaging.standing import superseded

log = structlog.get_logger(__name__)

MOST_REFUSALS_KEPT = 100
VERBS = ("requeue", "discard", "restore")
_SUPERSEDED = "superseded"
_ERRORS_ONLY = "errors_only"

Act = Callable[..., list[Answer]]


def begin(
    verb: str,
    selection: Selection,
    *,
    operator: Operator,
    note: str = "",
    force: bool = False,
    only_superseded: bool = False,
    newest_id: int | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> OperatorBatch:
    """Keep the decision; nothing is done to any letter yet. Letters that come later are left out.

    Later than now, or than `newest_id`, the newest letter when the operator was asked.
    Raises ValueError for an unknown verb, or a discard without a reason.
    """
    if verb not in VERBS or (verb == "discard" and not note.strip()):
        raise ValueError(f"{verb} cannot be done so")
    filters = selection.as_json()
    filters |= {_SUPERSEDED: "yes"} if only_superseded else {}
    filters |= {} if selection.search_payload else {_ERRORS_ONLY: "yes"}
    letters = _letters(filters, using=using)
    if newest_id is not None:
        letters = letters.filter(pk__lte=newest_id)
    return OperatorBatch.objects.using(using).create(
        action=verb,
        operator=operator.name[:150],
        user_id=operator.user_id,
        source_ip=operator.source_ip,
        note=note,
        force=force,
        filters=filters,
        matched=letters.count(),
        newest_id=letters.order_by().aggregate(newest=Max("pk"))["newest"] or 0,
        in_background=True,
    )


def cancel(batch_id: int, *, operator: Operator, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Do nothing more of it; what is done stays done. False where it had ended already."""
    waiting = OperatorBatch.objects.using(using).filter(pk=batch_id, in_background=True)
    ended = waiting.filter(finished_at__isnull=True).update(
        cancelled_at=Now(), finished_at=Now(), cancelled_by=operator.name[:150]
    )
    return bool(ended)


def pending(*, using: str = DEFAULT_DB_ALIAS) -> list[int]:
    """The batches that are not finished, the oldest first."""
    waiting = OperatorBatch.objects.using(using).filter(
        in_background=True, finished_at__isnull=True
    )
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def carry_on(batch_id: int, *, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Decide over the next piece, in one transaction; False where nothing is left to do.

    A letter whose decision fails for good is refused with the error, and the others go on.
    Raises TransientError and other database errors, and then nothing of the piece was done.
    """
    return in_one_transaction(partial(_carry_on, batch_id, using=using), using=using)


def _carry_on(batch_id: int, *, using: str) -> bool:
    locked = OperatorBatch.objects.using(using).select_for_update(no_key=True)
    batch = locked.filter(pk=batch_id, in_background=True, finished_at__isnull=True).first()
    if batch is None:
        return False
    row = OperatorBatch.objects.using(using).filter(pk=batch.pk)
    piece = _next_piece(batch, using=using)
    if not piece:
        row.update(finished_at=Now(), started_at=batch.started_at or Now())
        log.info("batch finished", batch=batch.pk, done=batch.done, refused=batch.refused)
        return False
    answers = _decide(_act(batch, using=using), piece)
    refused = [answer for answer in answers if not answer.done]
    kept = [*batch.refusals, *([answer.letter_id, answer.said] for answer in refused)]
    row.update(
        last_done_id=piece[-1],
        done=F("done") + len(answers) - len(refused),
        refused=F("refused") + len(refused),
        refusals=kept[:MOST_REFUSALS_KEPT],
        started_at=batch.started_at or Now(),
    )
    return True


def _next_piece(batch: OperatorBatch, *, using: str) -> list[int]:
    letters = _letters(batch.filters, using=using)
    rows = letters.filter(pk__gt=batch.last_done_id, pk__lte=batch.newest_id).order_by("pk")
    piece: list[int] = []
    size = 0
    for letter_id, body_size in rows.values_list("pk", "body_size")[:MOST_AT_ONCE]:
        if piece and size + body_size > MOST_BYTES_AT_ONCE:
            break
        piece.append(letter_id)
        size += body_size
    return piece


def _letters(filters: dict[str, str], *, using: str) -> DeadLetterQuerySet:
    known = {name: value for name, value in filters.items() if name != _SUPERSEDED}
    errors_only = known.pop(_ERRORS_ONLY, "")
    selection = Selection.from_json(known, search_payload=not errors_only)
    letters = selection.letters(DeadLetter.objects.using(using))
    return superseded(letters) if filters.get(_SUPERSEDED) else letters


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
