"""Where each published revision is right now, from the records that delivery keeps.

A fact travels over stations: Saved (with the revision), Sent (confirmed by the broker), then
each consumer. What is told here is what stands in the database; only for what is late the ways
themselves are looked at (materials.holdups). The number of queries does not depend on how many
revisions are asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from materials import holdups
from materials.events import PUBLISHED, WITHDRAWN
from materials.models import Material, Revision
from materials.stations import (
    Looking,
    Station,
    arrival_station,
    failed_station,
    forgotten_station,
    saved_station,
    sent_station,
    waiting_station,
)
from messaging import registry
from messaging.models import DeadLetter, FailedAttempt, InboxReceipt, OutboxMessage

FIRST_SHOWN = ("catalog", "audit")


@dataclass(frozen=True)
class Journey:
    """One revision's way; `replaced_by` is the material's newest revision, where that is newer."""

    revision: Revision
    stations: Sequence[Station]
    replaced_by: int | None = None

    @property
    def is_settled(self) -> bool:
        """Nothing more will happen by itself."""
        return all(station.is_settled for station in self.stations)

    @property
    def summary(self) -> str:
        """`trouble`, `waiting`, `retrying`, `sent` or `arrived` (in the catalog)."""
        states = {station.name: station.state for station in self.stations}
        if "dead" in states.values():
            return "trouble"
        if states["sent"] != "settled":
            return "waiting"
        if "retrying" in states.values():
            return "retrying"
        return "arrived" if states.get("catalog") in ("settled", "superseded") else "sent"


@dataclass(frozen=True)
class _Records:
    messages: Mapping[UUID, dict[str, Any]]
    receipts: Mapping[tuple[str, UUID], dict[str, Any]] = field(default_factory=dict)
    failures: Mapping[tuple[str, UUID], dict[str, Any]] = field(default_factory=dict)
    letters: Mapping[tuple[str, UUID], dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    now: datetime
    look: Looking


def journeys(
    revisions: Iterable[Revision],
    *,
    newest: Mapping[str, int] | None = None,
    explained: bool = True,
) -> dict[UUID, Journey]:
    """The journey of each revision, by event id. `newest` is the last revision by material.

    Only what is `explained` says what it waits for, after a look at the broker where it is late.
    """
    revisions = list(revisions)
    records = _read([revision.event_id for revision in revisions])
    asked = _Asked(now=timezone.now(), look=holdups.look if explained else None)
    return {
        revision.event_id: _journey(revision, records, asked, newest=newest or {})
        for revision in revisions
    }


def last_journeys(materials: Iterable[Material]) -> dict[str, Journey]:
    """The journey of each material's last fact, by material id; drafts have none."""
    last = Revision.objects.filter(
        material__in=[material.material_id for material in materials if material.revision],
        number=F("material__revision"),
    ).defer("body", "summary")
    return {
        journey.revision.material_id: journey
        for journey in journeys(last, explained=False).values()
    }


def _journey(
    revision: Revision, records: _Records, asked: _Asked, *, newest: Mapping[str, int]
) -> Journey:
    message = records.messages.get(revision.event_id)
    consumers = _consumers_of(_EVENT_TYPES[revision.kind])
    handled = [
        receipt["handled_at"]
        for name in consumers
        if (receipt := records.receipts.get((name, revision.event_id)))
    ]
    saved = saved_station(revision.happened_at)
    sent = sent_station(
        message,
        saved_at=revision.happened_at,
        handled=bool(handled),
        now=asked.now,
        look=asked.look,
    )
    last = newest.get(revision.material_id, 0)
    return Journey(
        revision=revision,
        stations=[
            saved,
            sent,
            *(_at(name, revision, records, asked, sent=sent) for name in consumers),
        ],
        replaced_by=last if last > revision.number else None,
    )


def _at(
    consumer: str, revision: Revision, records: _Records, asked: _Asked, *, sent: Station
) -> Station:
    key = consumer, revision.event_id
    before = sent.at or revision.happened_at
    if receipt := records.receipts.get(key):
        return arrival_station(consumer, receipt, before=before)
    letter, failure = records.letters.get(key), records.failures.get(key)
    if letter or failure:
        return failed_station(
            consumer,
            letter=letter,
            failure=failure,
            before=before,
            now=asked.now,
            look=asked.look,
        )
    if revision.event_id not in records.messages:
        return forgotten_station(consumer)
    return waiting_station(consumer, sent=sent, now=asked.now, look=asked.look)


def _read(event_ids: list[UUID]) -> _Records:
    messages = OutboxMessage.objects.filter(consumer="", event_id__in=event_ids)
    known = [each.name for each in registry.consumers()]
    letters = DeadLetter.objects.filter(consumer__in=known, event_id__in=event_ids)
    receipts: dict[tuple[str, UUID], dict[str, Any]] = {}
    failures: dict[tuple[str, UUID], dict[str, Any]] = {}
    for database, names in _consumers_by_database().items():
        asked = {"consumer__in": names, "event_id__in": event_ids}
        receipts |= _by_fact(
            InboxReceipt.objects.using(database)
            .filter(**asked)
            .values("consumer", "event_id", "outcome", "handled_at")
        )
        failures |= _by_fact(
            FailedAttempt.objects.using(database)
            .filter(**asked, counted=True)
            .order_by("id")
            .values("consumer", "event_id", "attempt", "transient", "failed_at")
        )
    return _Records(
        messages=_by_event(messages.values("event_id", "state", "attempts", "due_at", "sent_at")),
        receipts=receipts,
        failures=failures,
        letters=_by_fact(
            letters.order_by("changed_at", "id").values(
                "id", "consumer", "event_id", "state", "died_at", "requeued_at"
            )
        ),
    )


def _by_event(rows: Iterable[Any]) -> dict[UUID, dict[str, Any]]:
    return {row["event_id"]: row for row in rows}


def _by_fact(rows: Iterable[Any]) -> dict[tuple[str, UUID], dict[str, Any]]:
    return {(row["consumer"], row["event_id"]): row for row in rows}


_EVENT_TYPES: dict[str, str] = {
    Revision.Kind.PUBLISHED: PUBLISHED,
    Revision.Kind.WITHDRAWN: WITHDRAWN,
}


def _consumers_of(event_type: str) -> list[str]:
    """The names of those that take it, in the order of the timeline."""
    names = [each.name for each in registry.consumers() if each.takes(event_type)]
    known = [name for name in FIRST_SHOWN if name in names]
    return known + [name for name in names if name not in known]


def _consumers_by_database() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for each in registry.consumers():
        found[each.database].append(each.name)
    return found
