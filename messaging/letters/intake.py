"""Copies from dead queues into letters: the transaction that `collector` acks after.

One record a body and consumer, decided by the unique key, whoever else collects. Which of a
letter's copies is a new death, and which the same one again, is decided here.
"""

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models.functions import Now

from messaging.errors import TransientError
from messaging.letters.arrivals import Arrival
from messaging.letters.body_claims import claim_bodies
from messaging.letters.explanations import Copy, explain
from messaging.models import Correction, DeadLetter, Death, OperatorDecision
from messaging.operating.decision_log import DELIVERY, entry

State = DeadLetter.State


def take_in(arrivals: Sequence[Arrival], *, using: str, again: bool = False) -> None:
    """Keep these copies, in order of arrival, in one transaction; commits before it returns.

    Safe to repeat with the same copies, and beside other collectors. Locks letters in the
    order of their ids. Raises nothing but database errors and TransientError; then nothing was
    kept, unless the connection was lost over the commit: repeat it with `again`, which takes no
    copy that was kept for another one.
    """
    copies = explain(arrivals)
    with transaction.atomic(using=using):
        intake = _Intake(copies, using, again=again)
        for copy in copies:
            intake.receive(copy)
        intake.write()


_Key = tuple[str, bytes]


class _Intake:
    """One transaction's work: the letters of its copies, locked, and what becomes of them."""

    def __init__(self, copies: Sequence[Copy], using: str, *, again: bool) -> None:
        self._using = using
        claim_bodies({copy.arrival.sha256 for copy in copies}, using=using)
        self._corrections = self._find_corrections({copy.key for copy in copies})
        self._letters = self._lock_letters(copies)
        ids = {letter.pk for letter in self._letters.values()}
        deaths = Death.objects.using(using).filter(letter_id__in=ids).order_by()
        dead = set(deaths.values_list("letter_id", flat=True).distinct())
        self._unborn = ids - dead  # made in this transaction
        known = deaths.filter(mark__in={copy.arrival.mark for copy in copies})
        self._marks = {(pk, bytes(mark)) for pk, mark in known.values_list("letter_id", "mark")}
        # What may have been kept by the same work before: it was all of it, or nothing.
        self._kept_before = frozenset(self._marks) if again else frozenset()
        self._changed: dict[int, DeadLetter] = {}
        self._deaths: list[Death] = []
        self._entries: list[OperatorDecision] = []

    def receive(self, copy: Copy) -> None:
        """The copy is its letter's first death, the same death again, a further copy, or news."""
        letter, arrival = self._letters[copy.key], copy.arrival
        mark = letter.pk, arrival.mark
        known = mark in self._marks
        repeated = known and (arrival.redelivered or mark in self._kept_before)
        if letter.pk in self._unborn:
            self._unborn.discard(letter.pk)
        elif repeated and not _may_be_new(letter, arrival):
            return  # committed once, and not acked
        elif letter.state == State.OPEN:
            letter.copies += 1
            self._change(letter, copy, latest=arrival.died_at >= letter.died_at)
        else:
            self._reopen(letter, copy)
        if not known:
            self._marks.add(mark)
            self._deaths.append(_death(letter, copy))

    def write(self) -> None:
        for letter_id in sorted(self._changed):
            letter = self._changed[letter_id]
            untouched = letter.get_deferred_fields()
            letter.save(
                using=self._using,
                update_fields=[name for name in _CHANGING if name not in untouched],
            )
        Death.objects.using(self._using).bulk_create(self._deaths)
        OperatorDecision.objects.using(self._using).bulk_create(self._entries)

    def _find_corrections(self, keys: Collection[_Key]) -> dict[_Key, Correction]:
        found = _of(Correction.objects.using(self._using), "sha256", keys).defer("body")
        return {(each.consumer, bytes(each.sha256)): each for each in found}

    def _lock_letters(self, copies: Sequence[Copy], *, again: int = 3) -> dict[_Key, DeadLetter]:
        new: dict[_Key, DeadLetter] = {}
        for copy in copies:
            if copy.key not in self._corrections:
                new.setdefault(copy.key, _letter(copy))
        letters = DeadLetter.objects.using(self._using)
        # In one order, so that two collectors with the same bodies wait and do not deadlock.
        letters.bulk_create([new[key] for key in sorted(new)], ignore_conflicts=True)
        owners = {each.letter_id for each in self._corrections.values()}
        wanted = _of(letters, "body_sha256", new.keys()) | letters.filter(pk__in=owners)
        locked = wanted.without_payload().order_by("pk").select_for_update(no_key=True)
        by_id = {letter.pk: letter for letter in locked}
        by_key = {(each.consumer, bytes(each.body_sha256)): each for each in by_id.values()}
        lost = [key for key, each in self._corrections.items() if each.letter_id not in by_id]
        if lost or new.keys() - by_key.keys():
            # Cleaned up since they were found: what comes now is a letter of its own.
            for key in lost:
                del self._corrections[key]
            if not again:
                raise TransientError("letters vanish while they are collected")
            return self._lock_letters(copies, again=again - 1)
        for key, correction in self._corrections.items():
            by_key[key] = by_id[correction.letter_id]
        return by_key

    def _reopen(self, letter: DeadLetter, copy: Copy) -> None:
        detail = {"from": letter.state, "reason": copy.arrival.reason}
        action = OperatorDecision.Action.DIED_AGAIN
        self._entries.append(entry(action, DELIVERY, letter=letter, detail=detail))
        letter.state = State.OPEN
        letter.deaths += 1
        letter.copies = 1
        letter.changed_at = Now()
        self._change(letter, copy, latest=True)

    def _change(self, letter: DeadLetter, copy: Copy, *, latest: bool) -> None:
        self._changed[letter.pk] = letter
        letter.first_died_at = min(letter.first_died_at, copy.arrival.died_at)
        if latest:
            for name, value in _latest(copy).items():
                setattr(letter, name, value)
            letter.correction = self._corrections.get(copy.key)


_CHANGING = (
    "state",
    "deaths",
    "copies",
    "changed_at",
    "first_died_at",
    "died_at",
    "reason",
    "error",
    "place",
    "attempt",
    "header_table",
    "headers",
    "properties",
    "correction",
)


def _may_be_new(letter: DeadLetter, arrival: Arrival) -> bool:
    """Whether an equal copy may be the redrive's: a copy tells its death to the second alone."""
    if letter.requeued_at is None or arrival.died_in_second is None:
        return False
    return arrival.died_in_second >= int(letter.requeued_at.timestamp())


def _letter(copy: Copy) -> DeadLetter:
    arrival = copy.arrival
    return DeadLetter(
        consumer=arrival.consumer,
        event_id=arrival.facts.event_id,
        type=arrival.facts.type,
        material_id=arrival.facts.material_id,
        revision=arrival.facts.revision,
        body=arrival.body,
        body_sha256=arrival.sha256,
        body_size=len(arrival.body),
        body_text=arrival.body_text,
        first_died_at=arrival.died_at,
        **_latest(copy),
    )


def _latest(copy: Copy) -> dict[str, Any]:
    arrival = copy.arrival
    return {
        "reason": arrival.reason,
        "error": copy.error,
        "place": copy.place,
        "attempt": arrival.attempt,
        "header_table": arrival.header_table,
        "headers": arrival.headers,
        "properties": arrival.properties,
        "died_at": arrival.died_at,
    }


def _death(letter: DeadLetter, copy: Copy) -> Death:
    arrival = copy.arrival
    return Death(
        letter=letter,
        died_at=arrival.died_at,
        reason=arrival.reason,
        error=copy.error,
        attempt=arrival.attempt,
        redelivered=arrival.redelivered,
        header_table=arrival.header_table,
        mark=arrival.mark,
    )


_Rows = TypeVar("_Rows", bound=models.QuerySet[Any])


def _of(rows: _Rows, name: str, keys: Collection[_Key]) -> _Rows:
    """The rows whose consumer and hash are among the keys."""
    wanted = models.Q(pk__in=[])
    for consumer in {consumer for consumer, _ in keys}:
        hashes = [sha256 for named, sha256 in keys if named == consumer]
        wanted |= models.Q(consumer=consumer, **{f"{name}__in": hashes})
    return rows.filter(wanted)
