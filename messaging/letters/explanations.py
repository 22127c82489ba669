"""Why a consumer failed at the copies in its dead queue: their own words, or its attempts'."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from uuid import UUID

from django.conf import settings
from django.db.models import Max

from messaging import registry
from messaging.letters.arrivals import UNKNOWN_REASON, Arrival
from messaging.models import FailedAttempt
from messaging.registry import Consumer


@dataclass(frozen=True, slots=True)
class Copy:
    """An arrival with the error's text and the place: the innermost frame of our own where it
    happened, or else what of the copy could not be read."""

    arrival: Arrival
    error: str
    place: str

    @property
    def key(self) -> tuple[str, bytes]:
        """What names its letter: the consumer and the body's hash."""
        return self.arrival.consumer, self.arrival.sha256


def explain(arrivals: Sequence[Arrival]) -> list[Copy]:
    """The same, explained, in the same order. Two queries a consumer, in its own database."""
    known: dict[tuple[str, UUID | None], FailedAttempt] = {}
    for consumer in {arrival.consumer for arrival in arrivals}:
        named = [each.facts.event_id for each in arrivals if each.consumer == consumer]
        ids = {event_id for event_id in named if event_id is not None}
        for event_id, attempt in _latest_attempts(registry.consumer(consumer), ids).items():
            known[consumer, event_id] = attempt
    return [_copy(each, known.get((each.consumer, each.facts.event_id))) for each in arrivals]


def own_frame(traceback: str) -> str:
    """Where in our own code it happened, `file, function`: the innermost; empty for none.

    Without the line, which another version of the file would move.
    """
    for path, function in reversed(_FRAME.findall(traceback)):
        file = PurePath(path)
        if file.is_relative_to(settings.BASE_DIR) and "site-packages" not in file.parts:
            return f"{file.relative_to(settings.BASE_DIR)}, {function}"[:200]
    return ""


def without_particulars(refusal: str) -> str:
    """What a body or header was refused for, without what it quotes and where it stood.

    Equal for all that were refused alike, so that they are one incident.
    """
    return _PARTICULAR.sub("…", refusal)[:200]


# Field names come from our own types alone, and the other numbers are the contract's.
_PARTICULAR = re.compile(
    r"“.*”|(?<=at byte )\d+|(?<=at character )\d+|(?<=schemaVersion )-?\d+|(?<=header is )-?\d+"
    r"|^\d+(?= bytes)"
)

_FRAME = re.compile(r'^ *File "(.+?)", line \d+, in (.+)$', re.MULTILINE)


def _copy(arrival: Arrival, attempt: FailedAttempt | None) -> Copy:
    # Another failure of the same event does not explain this one.
    if attempt is None or arrival.reason not in (attempt.error_class, UNKNOWN_REASON):
        return Copy(arrival, arrival.error, without_particulars(arrival.error))
    return Copy(arrival, attempt.error_text or arrival.error, own_frame(attempt.traceback))


def _latest_attempts(
    consumer: Consumer, event_ids: Collection[UUID]
) -> Mapping[UUID, FailedAttempt]:
    if not event_ids:
        return {}
    attempts = FailedAttempt.objects.using(consumer.database)
    latest = (
        attempts.filter(consumer=consumer.name, event_id__in=event_ids)
        .order_by()
        .values("event_id")
        .annotate(latest=Max("id"))
        .values_list("latest", flat=True)
    )
    return {attempt.event_id: attempt for attempt in attempts.filter(id__in=list(latest))}
