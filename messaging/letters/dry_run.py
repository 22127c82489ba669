"""What sending a letter again would change, tried in a transaction that is rolled back.

The consumer's own handler runs, with its real locks, on the real rows; so it is bounded by the
statement and lock timeouts of the database, and on SQLite holds the one write lock meanwhile.
Effects outside the database would be real: a handler has none (docs/guarantees.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from messaging import registry
from messaging.envelope import Event
from messaging.errors import TransientError
from messaging.handling import inbox
from messaging.letters import redrives
from messaging.models import DeadLetter
from messaging.registry import Consumer
from messaging.running.error_texts import sanitised, traceback_text
from messaging.storing import schema
from messaging.storing.database_errors import kind_of, names_nothing


@dataclass(frozen=True)
class DryRun:
    """`outcome` is what would be kept with the receipt, or None where the error would be raised.

    `changes` has what the consumer would then know of the material, before and after; empty
    where nothing changes, or the consumer does not describe itself.
    """

    outcome: str | None
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    error_class: str = ""
    error: str = ""
    error_kind: str = ""  # PermanentError, TransientError, OutageError, ConfigurationError
    traceback: str = ""


def dry_run(letter: DeadLetter, *, body: bytes | None = None) -> DryRun:
    """Try the letter, or that body in its place. Changes nothing, and raises nothing but what
    ends any work: an error of the handler or the database is the result."""
    redrive = redrives.prepare(letter, body=body)
    if said := redrive.why_impossible():
        return DryRun(None, error=said)
    if redrive.event is None:
        return DryRun(
            None,
            error_class=redrive.problem_class,
            error=redrive.problem,
            error_kind="PermanentError",
        )
    consumer = registry.consumer(letter.consumer)
    try:
        return _try(consumer, redrive.event)
    except Exception as error:  # noqa: BLE001  # a handler may raise anything
        return _failed(error, consumer.database)


def _try(consumer: Consumer, event: Event) -> DryRun:
    with transaction.atomic(using=consumer.database):
        try:
            before = _described(consumer, event)
            outcome = inbox.handle(consumer, [event])[0]
            after = _described(consumer, event)
        finally:
            transaction.set_rollback(True, using=consumer.database)
    if isinstance(outcome, Exception):
        return _failed(outcome, consumer.database)
    names = [*before, *(name for name in after if name not in before)]
    return DryRun(
        str(outcome),
        changes={
            name: (before.get(name), after.get(name))
            for name in names
            if before.get(name) != after.get(name)
        },
    )


def _described(consumer: Consumer, event: Event) -> Mapping[str, Any]:
    if consumer.describe is None:
        return {}
    return consumer.describe(event.material_id, consumer.database)


def _failed(error: Exception, using: str) -> DryRun:
    kind = kind_of(error)
    if names_nothing(error) and schema.lacks(using) is None:
        kind = TransientError  # of this statement alone, as its consumer would find
    return DryRun(
        None,
        error_class=type(error).__name__,
        error=sanitised(error),
        error_kind=kind.__name__,
        traceback=traceback_text(error) if error.__traceback__ else "",
    )
