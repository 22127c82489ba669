"""The letters of one decision, held until it is committed, and what is answered for each.

Shared by `dead_letters` and `corrections`, which hold the rules; here is what they look at.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from messaging.letters import redrives
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator, entry

Action = OperatorDecision.Action
State = DeadLetter.State


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one letter: done, or refused with a sentence for the operator."""

    letter_id: int
    done: bool
    said: str


class AtHand:
    """Letters by id, in the order asked for, each once and locked until the transaction ends.

    They are locked in the order of their ids. `payload` loads bodies and headers as well.
    """

    def __init__(self, ids: Iterable[int], *, using: str, payload: bool = False) -> None:
        self._using = using
        self._found = _lock_letters(ids, using=using, payload=payload)
        self._waiting = redrives.unsent(list(self._found), using=using)
        self._answers = {
            letter_id: Answer(letter_id, done=False, said=_("There is no such letter."))
            for letter_id in self._found
        }

    def __iter__(self) -> Iterator[DeadLetter]:
        return (letter for letter in self._found.values() if letter is not None)

    def is_parked(self, letter: DeadLetter) -> bool:
        """Whether its redrive waits for a person, because the relay has given it up."""
        row = self._waiting.get(letter.pk)
        parked = row is not None and row.state == OutboxMessage.State.FAILED
        return letter.state == State.REQUEUED and parked

    def is_waiting(self, letter: DeadLetter) -> bool:
        """Whether its redrive is yet to be sent, so that it cannot have got lost on its way."""
        row = self._waiting.get(letter.pk)
        return row is not None and row.state == OutboxMessage.State.PENDING

    def why_settled(self, letter: DeadLetter) -> str:
        """Why nothing can be decided over it as it stands: by whom and when it was settled."""
        line = _last_decision(letter, using=self._using)
        by = {
            "name": line.operator if line else "?",
            "when": f"{line.at if line else letter.changed_at:%Y-%m-%d %H:%M:%S} UTC",
        }
        match letter.state:
            case State.REQUEUED:
                said = _("It was already requeued by %(name)s at %(when)s.") % by
                return f"{said} {_where(self._waiting.get(letter.pk))}"
            case State.RESOLVED:
                return _("It is resolved since %(when)s: its receipt is there.") % by
            case State.DISCARDED:
                return _("It was discarded by %(name)s at %(when)s; restore it first.") % by
        return _("It is open.")

    def answer(self, letter: DeadLetter, refusal: str, *, done: str) -> bool:
        """Note what is said of the letter: the refusal, or, without one, that it is done."""
        self._answers[letter.pk] = Answer(letter.pk, done=not refusal, said=refusal or done)
        return not refusal

    def answers(self) -> list[Answer]:
        """One for each id, also for an unknown one."""
        return list(self._answers.values())

    def done(self) -> list[int]:
        return [letter_id for letter_id, answer in self._answers.items() if answer.done]

    def move(self, state: DeadLetter.State) -> None:
        """Give those that are done their new state."""
        letters = DeadLetter.objects.using(self._using).filter(pk__in=self.done())
        letters.update(state=state, changed_at=Now())

    def log(
        self,
        action: OperatorDecision.Action,
        operator: Operator,
        *,
        note: str,
        batch: OperatorBatch | None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """One line for each that is done."""
        OperatorDecision.objects.using(self._using).bulk_create(
            entry(
                action,
                operator,
                letter=self._found[letter_id],
                note=note,
                batch=batch,
                detail=detail,
            )
            for letter_id in self.done()
        )


def _lock_letters(ids: Iterable[int], *, using: str, payload: bool) -> dict[int, DeadLetter | None]:
    wanted: dict[int, DeadLetter | None] = dict.fromkeys(ids)
    letters = DeadLetter.objects.using(using).filter(pk__in=wanted)
    letters = letters.defer("body_text", "headers") if payload else letters.without_payload()
    for letter in letters.order_by("pk").select_for_update(no_key=True):
        wanted[letter.pk] = letter
    return wanted


def _last_decision(letter: DeadLetter, *, using: str) -> OperatorDecision | None:
    """The latest line of the log that changed its state."""
    lines = OperatorDecision.objects.using(using).filter(letter=letter, action__in=_CHANGING)
    return lines.order_by("-pk").first()


_CHANGING = [
    Action.REQUEUE,
    Action.CORRECT,
    Action.DISCARD,
    Action.RESTORE,
    Action.RESOLVED,
    Action.DIED_AGAIN,
]


def _where(redrive: OutboxMessage | None) -> str:
    if redrive is None:
        return _("It was sent and has no receipt yet.")
    if redrive.last_error:
        return _("It waits in the outbox: %s") % redrive.last_error
    return _("It waits in the outbox for the relay.")
