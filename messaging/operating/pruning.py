"""Cleaning up what delivery has settled long ago, in small steps that nobody has to wait for.

Whatever is not settled stays, and so does all that tells of it. Receipts have rules of their
own: `receipt_pruning`. The audit is not delivery's, and is never touched.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import Count, Model, QuerySet

from messaging.models import (
    Correction,
    DeadLetter,
    DeadLetterQuerySet,
    Death,
    FailedAttempt,
    OperatorBatch,
    OperatorDecision,
    OutboxMessage,
)
from messaging.registry import Consumer
from messaging.storing.patient_transactions import in_one_transaction

ROWS_AT_ONCE = 1000
LETTERS_AT_ONCE = 100
SHORTEST_PAUSE_SECONDS = 0.02
# After the last of its three retries a copy has waited three delays; four, and a margin.
RETRIES = 4
MARGIN = timedelta(hours=1)
_FEW = ROWS_AT_ONCE // 4  # of one kind among the rows of a step
_WINDOW = 10_000
_HISTORY: tuple[type[Model], ...] = (OperatorDecision, Death, Correction)

State = DeadLetter.State


@dataclass
class Pruned:
    """How many rows of each kind went, or would go; what was kept, and what refused, and why."""

    rows: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Pruning:
    """One run. Each step is a transaction of at most ROWS_AT_ONCE rows, followed by a pause.

    With `dry_run` rows are counted and nothing changes. `stopping` is looked at between steps.
    Raises TransientError when the database stays busy; what was deleted until then stays so.
    """

    def __init__(
        self,
        *,
        before: datetime,
        using: str,
        dry_run: bool = False,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.pruned = Pruned()
        self.before = before
        self.using = using
        self._dry_run = dry_run
        self._stopping = stopping

    def letters(self) -> None:
        """Resolved and discarded ones that have not changed since, and all that tells of them."""
        settled = DeadLetter.objects.using(self.using).settled().filter(changed_at__lt=self.before)
        last = 0
        while ids := list(
            settled.filter(pk__gt=last)
            .order_by("pk")
            .values_list("pk", flat=True)[:LETTERS_AT_ONCE]
        ):
            last = ids[-1]
            for piece in self._pieces(ids):
                letters = settled.filter(pk__in=piece)
                if len(piece) == 1 and not self._dry_run:
                    self._shorten_history(letters)
                self.step("letters", letters, delete=_delete_letters)

    def _pieces(self, ids: Sequence[int]) -> Iterator[list[int]]:
        """Letters that have no more than ROWS_AT_ONCE rows together, or one that has."""
        rows = Counter(dict.fromkeys(ids, 1))
        telling: tuple[type[Model], ...] = (*_HISTORY, OutboxMessage)
        for model in telling:
            told = model._default_manager.using(self.using).filter(letter_id__in=ids).order_by()
            counted = told.values("letter_id").annotate(rows=Count("pk"))
            rows.update({each["letter_id"]: each["rows"] for each in counted})
        piece: list[int] = []
        size = 0
        for letter_id in ids:
            if piece and size + rows[letter_id] > ROWS_AT_ONCE:
                yield piece
                piece, size = [], 0
            piece.append(letter_id)
            size += rows[letter_id]
        yield piece

    def _shorten_history(self, letter: "QuerySet[DeadLetter]") -> None:
        """Until what tells of the letter fits into one step; the oldest goes first."""
        for model in _HISTORY:
            rows = model._default_manager.using(self.using)
            while not self._stopping():
                told = rows.filter(letter__in=letter).order_by("pk").values_list("pk", flat=True)
                oldest = list(told[:ROWS_AT_ONCE])
                if len(oldest) <= _FEW:
                    break
                work = partial(_delete_of_settled, rows.filter(pk__in=oldest))
                self.step("lines of letters", letter, delete=work)

    def outbox(self) -> None:
        """Rows that were sent, unless their letter is on its way or open again."""
        rows = OutboxMessage.objects.using(self.using)
        for ids in older(rows.all(), "created_at", self.before):
            sent = rows.filter(pk__in=ids, state=OutboxMessage.State.SENT, sent_at__lt=self.before)
            letters = sent.filter(letter__isnull=False).values("letter_id")
            busy = DeadLetter.objects.using(self.using).filter(
                pk__in=letters, state__in=[State.OPEN, State.REQUEUED]
            )
            rest = sent.exclude(letter_id__in=list(busy.values_list("pk", flat=True)))
            self.step("outbox rows", rest)

    def failed_attempts(self, consumer: Consumer, *, now: datetime) -> None:
        """Attempts at events that have no letter (any more), nor a copy that waits to be retried.

        They are an event's budget, which is not to begin anew.
        """
        before = min(self.before, retries_ended(now))
        attempts = FailedAttempt.objects.using(consumer.database).filter(consumer=consumer.name)
        for ids in older(attempts, "failed_at", before):
            piece = attempts.filter(pk__in=ids)
            events = list(piece.values_list("event_id", flat=True).distinct())
            told = self.letters_of(consumer).event_ids_among(events)
            self.step("failed attempts", piece.exclude(event_id__in=told))

    def batches(self) -> None:
        """Decisions over many whose every letter is gone, with their own lines."""
        batches = OperatorBatch.objects.using(self.using)
        about_letters = OperatorDecision.objects.using(self.using).filter(letter__isnull=False)
        for ids in older(batches.filter(finished_at__isnull=False), "created_at", self.before):
            for start in range(0, len(ids), _FEW):  # each has lines of its own
                piece = ids[start : start + _FEW]
                told = about_letters.filter(batch_id__in=piece).values("batch_id")
                ended = batches.filter(pk__in=piece, finished_at__lt=self.before)
                self.step("batches", ended.exclude(pk__in=told), delete=_delete_batches)

    def letters_of(self, consumer: Consumer) -> DeadLetterQuerySet:
        return DeadLetter.objects.using(self.using).filter(consumer=consumer.name)

    def step(
        self,
        kind: str,
        rows: "QuerySet[Any]",
        *,
        delete: "Callable[[QuerySet[Any]], int] | None" = None,
    ) -> None:
        """Delete these rows, count them, and let others have their turn."""
        if self._stopping():
            return
        if self._dry_run:
            self.pruned.rows[kind] += rows.count()
            return
        started = time.monotonic()
        work = partial(delete or _delete, rows)
        self.pruned.rows[kind] += in_one_transaction(work, using=rows.db)
        time.sleep(max(SHORTEST_PAUSE_SECONDS, time.monotonic() - started))


def retries_ended(now: datetime) -> datetime:
    """What failed before this moment waits in no retry queue any longer."""
    retry_delay = timedelta(milliseconds=settings.DELIVERY_RETRY_DELAY_MS)
    return now - RETRIES * retry_delay - MARGIN


def older(rows: "QuerySet[Any, Any]", at: str, before: datetime) -> Iterator[list[int]]:
    """The ids of rows that are older, in pieces of at most ROWS_AT_ONCE.

    Ids rise with time, so a long look at rows that are all younger is the end: a table of
    millions is not read to its end.
    """
    last = 0
    while True:
        ordered = rows.filter(pk__gt=last).order_by("pk")
        window = list(ordered.values_list("pk", at)[:_WINDOW])
        old = [pk for pk, moment in window if moment < before]
        for start in range(0, len(old), ROWS_AT_ONCE):
            yield old[start : start + ROWS_AT_ONCE]
        if not old or len(window) < _WINDOW:
            return
        last = window[-1][0]


def _delete(rows: "QuerySet[Model]") -> int:
    deleted, _kinds = rows.delete()
    return deleted


def _delete_letters(rows: "QuerySet[DeadLetter]") -> int:
    """Those that are still settled now; a copy may have opened one again."""
    using = rows.db
    ids = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
    letters = DeadLetter.objects.using(using).filter(pk__in=ids)
    OperatorDecision.objects.using(using).filter(letter_id__in=ids).delete()
    Death.objects.using(using).filter(letter_id__in=ids).delete()
    OutboxMessage.objects.using(using).filter(letter_id__in=ids).update(letter=None)
    letters.update(correction=None)
    Correction.objects.using(using).filter(letter_id__in=ids).delete()
    letters.only("pk").delete()
    return len(ids)


def _delete_of_settled(rows: "QuerySet[Any]", letter: "QuerySet[DeadLetter]") -> int:
    """Nothing where the letter is not settled any longer."""
    is_settled = list(letter.select_for_update().values_list("pk", flat=True))
    return _delete(rows) if is_settled else 0


def _delete_batches(rows: "QuerySet[OperatorBatch]") -> int:
    ids = list(rows.values_list("pk", flat=True))
    batches = OperatorBatch.objects.using(rows.db).filter(pk__in=ids)
    OperatorDecision.objects.using(rows.db).filter(batch_id__in=ids).delete()
    batches.delete()
    return len(ids)
