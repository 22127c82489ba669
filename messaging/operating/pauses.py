"""Pausing and resuming a consumer or the relay, and how a process learns of it.

A paused consumer leaves its session, so that what it held lies ready for when it goes on; a
paused relay publishes nothing and keeps its place. Publishing and editing go on meanwhile: the
outbox and the queues hold what waits. Pauses are in the default database.
"""

import time
from collections.abc import Callable
from datetime import datetime

import structlog
from django.db import DEFAULT_DB_ALIAS, Error

from messaging import registry
from messaging.broker.session import Session
from messaging.broker.sessions import serve_until_done
from messaging.errors import DeliveryError
from messaging.models import OperatorDecision, Pause
from messaging.operating.decision_log import Operator, entry
from messaging.running.process import Lifetime
from messaging.storing.database_turns import DatabaseTurns
from messaging.storing.patient_transactions import in_one_transaction

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.9

Action = OperatorDecision.Action


def targets() -> list[str]:
    """Whatever can be paused: the relay, and each consumer."""
    return [registry.RELAY, *(each.name for each in registry.consumers())]


def active(*, using: str = DEFAULT_DB_ALIAS) -> list[Pause]:
    """The pauses that hold now."""
    return list(Pause.objects.using(using).active().order_by("target"))


def pause(
    target: str,
    *,
    operator: Operator,
    reason: str,
    until: datetime | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> None:
    """Stop all processes of the target within two seconds, with a line in the decision log.

    Pausing again replaces the reason and the end. Raises LookupError for what cannot be paused,
    ValueError without a reason, TransientError as `dead_letters.requeue` does.
    """
    if target not in targets():
        raise LookupError(target)
    if not reason.strip():
        raise ValueError("a pause needs a reason")

    def decide() -> None:
        values = {
            "reason": reason.strip(),
            "operator": operator.name[:150],
            "user_id": operator.user_id,
            "until": until,
        }
        # Made anew, so that it began now by the database's clock.
        Pause.objects.using(using).filter(target=target).delete()
        Pause.objects.using(using).bulk_create(
            [Pause(target=target, **values)],
            update_conflicts=True,
            unique_fields=["target"],
            update_fields=["reason", "operator", "user", "until"],
        )
        detail = {"target": target, "until": until.isoformat() if until else None}
        entry(Action.PAUSE, operator, note=reason.strip(), detail=detail).save(using=using)

    in_one_transaction(decide, using=using)


def resume(target: str, *, operator: Operator, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Let it go on; False where it was not paused. Raises TransientError as `pause`."""

    def decide() -> bool:
        held = Pause.objects.using(using).filter(target=target)
        was_active = held.active().exists()
        held.delete()
        if was_active:
            entry(Action.RESUME, operator, detail={"target": target}).save(using=using)
        return was_active

    return in_one_transaction(decide, using=using)


class PauseWatch:
    """What one process knows of its own pause: a cheap look each LOOK_SECONDS, when asked.

    While the database does not answer, what was known last stands.
    """

    def __init__(self, target: str, lifetime: Lifetime) -> None:
        self._target = target
        self._lifetime = lifetime
        self._turns = DatabaseTurns(DEFAULT_DB_ALIAS, lifetime)
        self._next_look = 0.0
        self._known = False

    def holds(self) -> bool:
        """Whether the target is to stand still."""
        if time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + LOOK_SECONDS
        return self._known

    def wait_until_over(self) -> None:
        """Return when it may go on, or when the process is to stop."""
        while not self._lifetime.stopping and self.holds():
            self._lifetime.pause(LOOK_SECONDS / 2)

    def _look(self) -> None:
        before = self._known
        try:
            with self._turns.turn():
                self._known = Pause.objects.active().filter(target=self._target).exists()
        except (Error, DeliveryError):
            return
        if self._known != before:
            log.warning("paused" if self._known else "resumed", target=self._target)


def serve_between_pauses(
    serve: Callable[[Session], bool],
    watch: PauseWatch,
    lifetime: Lifetime,
    *,
    name: str,
    once: bool,
) -> bool:
    """`serve_until_done`, without a session while paused.

    `serve` tells whether it made way for a pause, which may be over by the time the session is
    closed; else it is done. With `once` a pause that holds ends it instead of being waited for,
    and the answer is False.
    """
    made_way = True

    def serve_and_tell(session: Session) -> None:
        nonlocal made_way
        made_way = serve(session)

    while made_way:
        if once and watch.holds():
            log.error("paused: nothing more is done, resume it first", command=name)
            return False
        watch.wait_until_over()
        made_way = False
        serve_until_done(serve_and_tell, lifetime, name=name)
        if lifetime.stopping:
            break
    return True
