"""Correct and requeue: another body in the place of a letter's own, under the same event id.

The letter keeps its own body; what was sent is kept beside it, so that a copy that comes back is
known. Crash points and transaction as in `dead_letters`.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from io import StringIO

from django.db import DEFAULT_DB_ALIAS, IntegrityError, transaction
from django.utils.translation import gettext as _

from messaging import registry
from messaging.envelope import decode
from messaging.errors import PermanentError
from messaging.event.json_strict import MAX_BODY_BYTES, parse
from messaging.letters import redrives
from messaging.letters.at_hand import Answer, AtHand
from messaging.letters.body_claims import claim_bodies
from messaging.models import Correction, DeadLetter, OperatorDecision
from messaging.operating.decision_log import Operator
from messaging.running.error_texts import sanitised
from messaging.running.inert_text import storable
from messaging.storing.patient_transactions import in_one_transaction

MAX_DIFF_CHARACTERS = 64 * 1024
_MAX_LINES = 2000  # comparing takes the square of it at worst
_MAX_LAID_OUT = 2 * MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a corrected body, and in which line where that can be told."""

    line: int | None
    said: str


def problems(letter: DeadLetter, body: bytes) -> list[Problem]:
    """Why this body cannot be sent in the letter's place; empty when it can."""
    try:
        event = decode(body, registry.event_types())
    except PermanentError as error:
        said = sanitised(error)
        return [Problem(_line_of_cause(error, body) or _line_of_field(said, body), said)]
    if letter.event_id is not None and event.event_id != str(letter.event_id):
        said = _("The eventId must stay %s: it names the fact.") % letter.event_id
        return [Problem(_line_of_field("`eventId`", body), said)]
    return []


def says_the_same(one: bytes, other: bytes) -> bool:
    """Whether both are the same event to every consumer: equal but for how they are laid out."""
    try:
        return parse(one).canonical == parse(other).canonical
    except PermanentError:
        return False


def correct(
    letter_id: int,
    body: bytes,
    *,
    operator: Operator,
    note: str = "",
    using: str = DEFAULT_DB_ALIAS,
) -> Answer:
    """Send this body instead of what died, in one transaction with its line in the log.

    Refused where the letter is not open, or the body has `problems`, or belongs to another
    letter. Raises TransientError, and nothing has changed, when the database is too busy.
    """

    def decide() -> Answer:
        claim_bodies([sha256(body).digest()], using=using)
        letters = AtHand([letter_id], payload=True, using=using)
        for letter in letters:
            refusal = _refusal(letters, letter, body)
            before = redrives.prepare(letter).body
            if not refusal:
                refusal = _keep(letter, body, operator, using=using)
            if letters.answer(letter, refusal, done=_("Corrected and requeued.")):
                redrives.send([redrives.prepare(letter, body=body)], using=using)
                detail = {"diff": difference(before, body), "sha256": sha256(body).hexdigest()}
                action = OperatorDecision.Action.CORRECT
                letters.log(action, operator, note=note, batch=None, detail=detail)
        return letters.answers()[0]

    return in_one_transaction(decide, using=using)


def difference(before: bytes, after: bytes) -> str:
    """The changed lines for people, of both bodies laid out alike where they are JSON."""
    lines = unified_diff(_laid_out(before), _laid_out(after), "before", "after", lineterm="")
    return "\n".join(lines)[:MAX_DIFF_CHARACTERS]


def _refusal(letters: AtHand, letter: DeadLetter, body: bytes) -> str:
    if letter.state != DeadLetter.State.OPEN:
        return letters.why_settled(letter)
    if impossible := redrives.prepare(letter).why_impossible():
        return impossible
    return " ".join(problem.said for problem in problems(letter, body))


def _keep(letter: DeadLetter, body: bytes, operator: Operator, *, using: str) -> str:
    """Make the body known as this letter's; the refusal where it is another letter's."""
    digest = sha256(body).digest()
    letters = DeadLetter.objects.using(using).filter(consumer=letter.consumer, body_sha256=digest)
    corrections = Correction.objects.using(using)
    owner = letters.values_list("pk", flat=True).first()
    if owner == letter.pk:
        letter.correction = None  # back to its own
        return ""
    known = corrections.filter(consumer=letter.consumer, sha256=digest).first()
    if known is None and owner is None:
        try:
            with transaction.atomic(using=using):
                known = corrections.create(
                    letter=letter,
                    consumer=letter.consumer,
                    body=body,
                    sha256=digest,
                    operator=storable(operator.name)[:150],
                )
        except IntegrityError:
            known = corrections.get(consumer=letter.consumer, sha256=digest)
    if known is None or known.letter_id != letter.pk:
        other = owner if known is None else known.letter_id
        return _("This is the body of letter %s: requeue that one.") % other
    letter.correction = known
    return ""


def _line_of_cause(error: BaseException, body: bytes) -> int | None:
    match error.__cause__:
        case json.JSONDecodeError(lineno=line):
            return int(line)
        case UnicodeDecodeError(start=start):
            return body.count(b"\n", 0, start) + 1
    return None


def _line_of_field(said: str, body: bytes) -> int | None:
    """Where the field stands that a sentence begins with: `data.title`: …"""
    named = re.match(r"`([A-Za-z.]+)", said)
    position = 0
    for name in named[1].split(".") if named else ():
        found = body.find(f'"{name}"'.encode(), position)
        position = position if found < 0 else found
    return body.count(b"\n", 0, position) + 1 if position else None


def _laid_out(body: bytes) -> list[str]:
    text = body[:MAX_BODY_BYTES].decode("utf-8", "backslashreplace")
    with suppress(ValueError, RecursionError):
        text = _beginning(
            json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(json.loads(text))
        )
    # What no database stores.
    text = text.replace("\0", "\u2400").encode("utf-8", "backslashreplace").decode("utf-8")
    return text[:_MAX_LAID_OUT].splitlines()[:_MAX_LINES]


def _beginning(pieces: Iterable[str]) -> str:
    """Indentation can make megabytes of a small body."""
    kept = StringIO()
    for piece in pieces:
        kept.write(piece)
        if kept.tell() > _MAX_LAID_OUT:
            break
    return kept.getvalue()
