"""One station of a fact's way, as an editor is told of it: state, moment, and what it waits for.

States: `settled`; `superseded` (handled, and newer news were there first); `waiting`;
`retrying`; `dead` (needs a person); `ahead` (not reached yet).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.formats import date_format, time_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from materials.holdups import Look
from messaging import registry
from messaging.envelope import MAX_ATTEMPT
from messaging.models import DeadLetter, InboxReceipt, OutboxMessage, Pause
from messaging.running.inert_text import inert

LATE_AFTER = timedelta(seconds=2)

# Looks at the ways, to explain what is late; None where nobody reads an explanation.
Looking = Callable[[], Look] | None


@dataclass(frozen=True, kw_only=True)
class Station:
    """`took` is the time since the station before; `letter` the dead letter, for operators."""

    name: str
    state: str
    title: str
    at: datetime | None = None
    took: timedelta | None = None
    says: str = ""
    letter: int | None = None

    @property
    def is_settled(self) -> bool:
        return self.state in ("settled", "superseded")


def saved_station(happened_at: datetime) -> Station:
    """The revision's own moment."""
    return Station(name="saved", state="settled", title=_("Saved"), at=happened_at)


def sent_station(
    message: Mapping[str, Any] | None,
    *,
    saved_at: datetime,
    handled: bool,
    now: datetime,
    look: Looking,
) -> Station:
    """Whether the broker has confirmed. No message any more means: sent, and cleaned up since."""
    title = _("Sent")
    if message is None:
        return Station(name="sent", state="settled", title=title)
    if message["state"] == OutboxMessage.State.SENT:
        sent_at = message["sent_at"]
        took = _since(saved_at, sent_at) if sent_at else None
        return Station(name="sent", state="settled", title=title, at=sent_at, took=took)
    if message["state"] == OutboxMessage.State.FAILED:
        says = _("The broker did not take it. An operator has to look at the outbox.")
        return Station(name="sent", state="dead", title=title, says=says)
    return Station(
        name="sent",
        state="retrying" if message["attempts"] else "waiting",
        title=title,
        says=_why_not_sent(message, saved_at=saved_at, handled=handled, now=now, look=look),
    )


def arrival_station(consumer: str, receipt: Mapping[str, Any], *, before: datetime) -> Station:
    """A consumer that has handled the fact."""
    stale = receipt["outcome"] == InboxReceipt.Outcome.STALE
    return Station(
        name=consumer,
        state="superseded" if stale else "settled",
        title=_title(consumer),
        at=receipt["handled_at"],
        took=_since(before, receipt["handled_at"]),
        says=_("Superseded: a newer revision was there first.") if stale else "",
    )


def failed_station(
    consumer: str,
    *,
    letter: Mapping[str, Any] | None,
    failure: Mapping[str, Any] | None,
    before: datetime,
    now: datetime,
    look: Looking,
) -> Station:
    """A consumer that could not handle the fact yet, or for good."""
    if letter is not None:
        return _from_letter(consumer, letter, before=before, look=look)
    assert failure is not None
    failed_at, attempt = failure["failed_at"], failure["attempt"]
    if not failure["transient"] or attempt >= MAX_ATTEMPT:
        return Station(
            name=consumer,
            state="dead",
            title=_title(consumer),
            at=failed_at,
            took=_since(before, failed_at),
            says=_("It could not be handled. It waits to be shown to the operators."),
        )
    again_at = failed_at + timedelta(milliseconds=settings.DELIVERY_RETRY_DELAY_MS)
    says = _("It could not be handled yet. Attempt %(attempt)d of %(last)d about %(time)s.") % {
        "attempt": attempt + 2,  # people count from one, and this is the next
        "last": MAX_ATTEMPT + 1,
        "time": _clock(again_at),
    }
    if now - again_at > LATE_AFTER and (pause := _pause_of(consumer, look)):
        says = _held_by(pause)
    return Station(name=consumer, state="retrying", title=_title(consumer), says=says)


def waiting_station(consumer: str, *, sent: Station, now: datetime, look: Looking) -> Station:
    """A consumer that has not answered: not reached, on the way, or waiting for something."""
    title = _title(consumer)
    if not sent.is_settled:
        return Station(name=consumer, state="ahead", title=title)
    says = _("On its way.")
    if look is not None and sent.at is not None and now - sent.at > LATE_AFTER:
        says = _why_not_handled(consumer, look())
    return Station(name=consumer, state="waiting", title=title, says=says)


def forgotten_station(consumer: str) -> Station:
    """A consumer of whose answer no record is left, nor of the sending."""
    says = _("It was sent long ago; the record of its arrival has been cleaned up.")
    return Station(name=consumer, state="settled", title=_title(consumer), says=says)


def _from_letter(
    consumer: str, letter: Mapping[str, Any], *, before: datetime, look: Looking
) -> Station:
    state, says = "dead", _("It could not be handled. It waits for an operator's decision.")
    at = letter["died_at"]
    if letter["state"] == DeadLetter.State.REQUEUED:
        state, at = "retrying", None
        says = _("Sent again by an operator at %s.") % _clock(letter["requeued_at"])
        if pause := _pause_of(consumer, look):
            says = f"{says} {_held_by(pause)}"
    elif letter["state"] == DeadLetter.State.DISCARDED:
        says = _("It could not be handled, and an operator has put it aside.")
    elif letter["state"] == DeadLetter.State.RESOLVED:
        state, says = "superseded", _("Settled by an operator.")
    return Station(
        name=consumer,
        state=state,
        title=_title(consumer),
        at=at,
        took=_since(before, at) if at else None,
        says=says,
        letter=letter["id"],
    )


def _why_not_sent(
    message: Mapping[str, Any], *, saved_at: datetime, handled: bool, now: datetime, look: Looking
) -> str:
    if handled:
        return _("It has arrived; the broker's confirmation is being noted.")
    if now - saved_at > LATE_AFTER and (pause := _pause_of(registry.RELAY, look)):
        return _held_by(pause)
    if message["attempts"] and message["due_at"] > now:
        return _("The broker did not take it. Trying again about %s.") % _clock(message["due_at"])
    if look is None or now - saved_at <= LATE_AFTER:
        return _("On its way.")
    seen = look()
    if not seen.broker_answers:
        return _("The broker does not answer. It will be sent as soon as it does.")
    if not seen.relay_leads:
        return _(
            "Waits for the relay, which is not connected. "
            "After an outage that takes up to half a minute."
        )
    return _("The broker has not confirmed yet.")


def _why_not_handled(consumer: str, seen: Look) -> str:
    if pause := seen.paused.get(consumer):
        return _held_by(pause)
    if not seen.broker_answers:
        return _("The broker does not answer. It keeps what it has confirmed.")
    depth = seen.queues.get(consumer)
    if depth is None:
        return _("Its queue is not there. An operator has to declare it.")
    if not depth.consumers:
        return _(
            "Waits in the queue: its consumer is not connected. "
            "After an outage that takes up to half a minute."
        )
    if depth.ready:
        return ngettext(
            "In the queue, where %d message waits.",
            "In the queue, where %d messages wait.",
            depth.ready,
        ) % (depth.ready,)
    return _("With the consumer, which has not answered yet.")


def _pause_of(target: str, look: Looking) -> Pause | None:
    return look().paused.get(target) if look is not None else None


def _held_by(pause: Pause) -> str:
    reason = inert(pause.reason)
    if pause.until is None:
        return _("Paused by an operator: %s") % reason
    until = timezone.localtime(pause.until)
    is_today = until.date() == timezone.localdate()
    values = {
        "time": time_format(until, "H:i") if is_today else date_format(until, _("j M Y, H:i")),
        "reason": reason,
    }
    return _("Paused by an operator until %(time)s: %(reason)s") % values


def _title(consumer: str) -> str:
    names = {"catalog": _("Catalog"), "audit": _("Audit")}
    return names.get(consumer, consumer)


def _since(before: datetime, at: datetime) -> timedelta:
    # Clocks of two machines, or a mark that came after what it tells of.
    return max(timedelta(0), at - before)


def _clock(moment: datetime) -> str:
    return time_format(timezone.localtime(moment), "H:i:s")
