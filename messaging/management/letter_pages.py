"""Letters as text on a terminal. Whatever comes from outside is shown inert."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from rich.table import Table
from rich.text import Text

from messaging.errors import SimulatedTransientError
from messaging.letters import redrives
from messaging.letters.documents import history, moment
from messaging.letters.dry_run import DryRun
from messaging.letters.standing import standing
from messaging.models import DeadLetter, OutboxMessage
from messaging.running.inert_text import inert, inert_block

SHOWN_BODY_BYTES = 64 * 1024


def letters_table(letters: Iterable[DeadLetter]) -> Table:
    """The list, one line a letter."""
    table = Table(*_COLUMNS)
    for letter in letters:
        table.add_row(
            str(letter.pk),
            letter.state,
            letter.consumer,
            Text(inert(_what(letter))),  # a Text, since a plain string may hold markup
            Text(inert(letter.reason)),
            _attempts(letter),
            str(letter.deaths),
            str(letter.copies),
            f"{letter.died_at:%Y-%m-%d %H:%M:%S}",
        )
    return table


_COLUMNS = "id", "state", "consumer", "what", "failure", "attempts", "deaths", "copies", "died"


def letter_page(letter: DeadLetter) -> Iterator[str]:
    """Everything that there is about one letter, line by line."""
    yield f"Letter {letter.pk} of {inert(letter.consumer)}: {letter.state}"
    yield _line("what", _what(letter))
    yield _line("event", letter.event_id or "")
    if letter.awaited_event_id != letter.event_id:
        yield _line("sent as", letter.awaited_event_id)
    yield _line("failure", f"{letter.reason}: {letter.error}" if letter.error else letter.reason)
    yield _line("where", letter.place)
    yield _line("attempts", _attempts(letter))
    yield _line("died", f"{moment(letter.died_at)}, first {moment(letter.first_died_at)}")
    yield _line("copies", f"{letter.copies} since it was opened; opened so often: {letter.deaths}")
    yield _line("standing", str(standing(letter)))
    yield _line("simulated", simulated(letter))
    yield _line("redrive", _redrive(letter))
    yield _line("headers", json.dumps(letter.headers, ensure_ascii=False))
    yield _line("properties", json.dumps(letter.properties, ensure_ascii=False))
    for line in history(letter):
        yield _line(moment(line.at), f"{line.action} by {line.operator}. {line.note}")
    yield f"Body, {letter.body_size} bytes:"
    yield inert_block(bytes(letter.body), limit_bytes=SHOWN_BODY_BYTES)
    if letter.correction is not None:
        yield "Body of the latest correction:"
        yield inert_block(bytes(letter.correction.body), limit_bytes=SHOWN_BODY_BYTES)


def dry_run_page(letter: DeadLetter, tried: DryRun) -> Iterator[str]:
    """What would happen, and what would change."""
    if tried.outcome is None:
        yield f"{letter.pk}: would fail. {inert(tried.error_class)}: {inert(tried.error)}"
        return
    yield f"{letter.pk}: would be {tried.outcome}."
    if said := simulated(letter):
        yield f"  {said}"
    for name, (before, after) in tried.changes.items():
        yield f"  {inert(name)}: {inert(before)} -> {inert(after)}"


def simulated(letter: DeadLetter) -> str:
    """What SIMULATE_TEMPORARY makes of a requeue, which neither receipts nor a dry run tell."""
    if letter.material_id in settings.SIMULATE_TEMPORARY:
        return "SIMULATE_TEMPORARY names this material here: a consumer that runs with it fails"
    if letter.reason == SimulatedTransientError.__name__:
        return "by SIMULATE_TEMPORARY in the consumer's process: fails again while it is set there"
    return ""


def dry_run_document(letter_id: int, tried: DryRun) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "id": letter_id,
        "outcome": tried.outcome,
        "error": {"class": tried.error_class, "text": tried.error} if tried.error else None,
        "changes": {
            name: {"before": before, "after": after}
            for name, (before, after) in tried.changes.items()
        },
    }


def _attempts(letter: DeadLetter) -> str:
    """How many there were, as the pages count; the header counts those before the last one."""
    return "" if letter.attempt is None else str(letter.attempt + 1)


def _line(name: str, value: object) -> str:
    return f"  {name:<11} {inert(value)}".rstrip()


def _what(letter: DeadLetter) -> str:
    if letter.material_id is None:
        return letter.type or "(no event)"
    revision = "" if letter.revision is None else f" r{letter.revision}"
    return f"{letter.type or ''} {letter.material_id}{revision}".strip()


def _redrive(letter: DeadLetter) -> str:
    row = redrives.unsent([letter.pk], using=letter._state.db or "default").get(letter.pk)
    if row is None:
        return ""
    parked = row.state == OutboxMessage.State.FAILED
    state = "parked, to be requeued again" if parked else "waits in the outbox"
    return f"{state}: {row.last_error}" if row.last_error else state
