"""The way back: a letter's body into the outbox, addressed to its consumer alone.

Used by the decisions that send a letter again (`dead_letters`, `corrections`), inside their
transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from messaging import registry
from messaging.broker import field_table
from messaging.envelope import Event, decode
from messaging.errors import FactConflict, PermanentError
from messaging.models import DeadLetter, FailedAttempt, OutboxMessage
from messaging.outbox import wake_relay
from messaging.running.error_texts import sanitised


@dataclass(frozen=True)
class Redrive:
    """What would be sent for a letter; `event` is None, and `problem` why, where it is no event."""

    letter: DeadLetter
    body: bytes
    event: Event | None
    problem: str = ""
    problem_class: str = ""

    def why_impossible(self) -> str:
        """Why it cannot be sent at all; empty where it can."""
        known = {consumer.name for consumer in registry.consumers()}
        if self.letter.consumer not in known:
            return _("There is no consumer “%s” any longer.") % self.letter.consumer
        return ""

    def why_in_vain(self) -> str:
        """Why sending it cannot help; empty where it can."""
        if self.event is None:
            return _("The body cannot be read, so it would die again at once: %s") % self.problem
        if self.letter.reason == FactConflict.__name__:
            return _("Another fact stands in its place, and stays: it would die again at once.")
        return ""


def prepare(letter: DeadLetter, *, body: bytes | None = None) -> Redrive:
    """That body, or the one that died last: the letter's own, or its correction's."""
    if body is None:
        correction = letter.correction
        body = bytes(letter.body if correction is None else correction.body)
    try:
        return Redrive(letter, body, decode(body, registry.event_types()))
    except PermanentError as error:
        return Redrive(letter, body, None, sanitised(error), type(error).__name__)


def unsent(letter_ids: Sequence[int], *, using: str) -> dict[int, OutboxMessage]:
    """The outbox rows, by letter, that have not gone yet: pending ones and parked ones."""
    rows = OutboxMessage.objects.using(using).filter(letter_id__in=letter_ids)
    waiting = rows.exclude(state=OutboxMessage.State.SENT).defer("body", "header_table")
    return {row.letter_id: row for row in waiting if row.letter_id is not None}


def send(redrives: Sequence[Redrive], *, using: str, bulk: bool = False) -> None:
    """Mark the letters requeued, give them a new attempt budget and the relay their bodies.

    `bulk` says that they are some of many, which go after what somebody waits for.

    Needs the caller's transaction, and in it the letters locked. A row of the letter that has
    not gone yet is replaced, so that a letter is on its way once. (Not changed: the relay may
    have read it already, and would mark the new body by what it knows of the old.)
    """
    if not redrives:
        return
    _start_new_budgets(redrives)
    take_back([redrive.letter.pk for redrive in redrives], using=using)
    for redrive in redrives:
        DeadLetter.objects.using(using).filter(pk=redrive.letter.pk).update(
            state=DeadLetter.State.REQUEUED,
            requeued_at=Now(),
            changed_at=Now(),
            sent_fingerprint=redrive.event.fingerprint if redrive.event else None,
            sent_event_id=redrive.event.event_id if redrive.event else None,
            correction=redrive.letter.correction,
        )
    OutboxMessage.objects.using(using).bulk_create(_row(redrive, bulk=bulk) for redrive in redrives)
    wake_relay(using=using)


def take_back(letter_ids: Sequence[int], *, using: str) -> None:
    """Drop the rows of these letters that have not gone yet. The relay may send one meanwhile."""
    rows = OutboxMessage.objects.using(using).filter(letter_id__in=letter_ids)
    rows.exclude(state=OutboxMessage.State.SENT).delete()


def _row(redrive: Redrive, *, bulk: bool) -> OutboxMessage:
    letter, event = redrive.letter, redrive.event
    return OutboxMessage(
        letter=letter,
        consumer=letter.consumer,
        body=redrive.body,
        header_table=_carried(bytes(letter.header_table)),
        event_id=event.event_id if event else None,
        message_id=_short_string(letter, "message_id"),
        type=_short_string(letter, "type") or (event.type if event else ""),
        material_id=event.material_id if event else letter.material_id or "",
        revision=event.revision if event else letter.revision,
        bulk=bulk,
    )


def _carried(header_table: bytes) -> bytes:
    headers, _end = field_table.decode_table(header_table, 0)
    pieces: list[bytes] = []
    field_table.encode_table(pieces, field_table.carried(headers))
    return b"".join(pieces)


def _short_string(letter: DeadLetter, name: str) -> str:
    """A property as the dead copy had it; one that was no text is left out."""
    value = letter.properties.get(name)
    # A property that held U+0000 is kept for people alone, and has grown.
    fits = isinstance(value, str) and "\u2400" not in value and len(value.encode()) <= 255
    return value if fits else ""


def _start_new_budgets(redrives: Sequence[Redrive]) -> None:
    """A consumer with a database of its own is first: a new budget alone does no harm."""
    for name in sorted({redrive.letter.consumer for redrive in redrives}):
        ids = {
            redrive.event.event_id
            for redrive in redrives
            if redrive.event is not None and redrive.letter.consumer == name
        }
        database = registry.consumer(name).database
        with transaction.atomic(using=database):
            FailedAttempt.objects.using(database).filter(
                consumer=name, event_id__in=ids, counted=True
            ).update(counted=False)
