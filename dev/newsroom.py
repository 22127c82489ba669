"""A newsroom in the middle of a day, for pictures and for tests of the pages: materials in every
state, facts at every station of their way, two editors, an author and an operator.

No broker is needed: the records of delivery are written as its processes would write them. Call
`fill` after django.setup(), on an empty, migrated database.
"""

import json
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db import DEFAULT_DB_ALIAS
from django.db.models import F
from django.utils import timezone

from materials import actions, schedules
from materials.catalog.models import CatalogEntry
from materials.importing import import_folder
from materials.models import Material, Revision, Schedule
from messaging import registry
from messaging.broker.wire import Delivery
from messaging.envelope import Event, decode
from messaging.errors import FactConflict, TransientError
from messaging.handling import attempts, inbox
from messaging.letters.arrivals import read_arrival
from messaging.letters.intake import take_in
from messaging.models import FailedAttempt, InboxReceipt, OutboxMessage

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
PASSWORD = "a door of glass"  # of a database that is thrown away
GROUPS = {"ada": "Editors", "grace": "Editors", "edgar": "Authors", "olga": "Operators"}

# What there is to see of each; the other samples are published and have arrived.
EDITED, DRAFT, PLANNED, WITHDRAWN = "article-107", "article-113", "article-114", "article-111"
WAITING, RETRYING, DEAD, CHANGED = "article-105", "article-109", "article-106", "article-103"
EXHAUSTED = "article-108"
ON_THE_WAY = (WAITING, RETRYING, DEAD, EXHAUSTED)  # their newest fact has not arrived everywhere


def fill(password: str = PASSWORD) -> None:
    """Every account has this password."""
    for name, group in GROUPS.items():
        user = User.objects.create_user(name, password=password, is_staff=group == "Operators")
        user.groups.add(Group.objects.get(name=group))
    for _report in import_folder(SAMPLES, publish=True, actor="ada"):
        pass
    _write(DRAFT, title="How to say no to a retry", actor="edgar", language="en")
    _write(PLANNED, title="The week of the outbox", actor="grace", language="en", tags=["delivery"])
    schedules.plan(
        PLANNED,
        act=Schedule.Act.PUBLISH,
        due_at=timezone.now().replace(microsecond=0, second=0) + timedelta(days=1),
        zone="Europe/Berlin",
        user=User.objects.get(username="grace"),
    )
    _edit(EDITED, "in anybody's way", "in anyone's way", actor="grace")
    _edit(EDITED, "and nothing else", "and never a message", actor="ada")
    actions.withdraw(WITHDRAWN, reason="Told better in “Queues that forgive”.", actor="ada")
    _edit(CHANGED, "outbox", "out-tray", actor="grace", published=False)
    for material_id in ON_THE_WAY:
        _edit(material_id, actor="grace", tags=("delivery", "new"))
    _travel()
    _grow_old()


def _write(material_id: str, *, title: str, actor: str, **fields: object) -> None:
    body = "A draft is a promise to oneself.\n\n## What is still missing\n\n- an example\n- an end"
    actions.create(material_id, title=title, actor=actor, body=body, **fields)  # type: ignore[arg-type]


def _edit(
    material_id: str,
    old: str = "",
    new: str = "",
    *,
    actor: str,
    tags: tuple[str, ...] = (),
    published: bool = True,
) -> None:
    material = Material.objects.get(material_id=material_id)
    actions.edit(
        material_id,
        title=material.title,
        summary=material.summary.replace(old, new),
        body=material.body.replace(old, new),
        language=material.language,
        tags=tags or material.tags,
        actor=actor,
    )
    if published:
        actions.publish(material_id, actor=actor)


def _travel() -> None:
    """Everything arrives, but the newest revision of those that shall not."""
    on_the_way = {WAITING: ""} | dict.fromkeys((RETRYING, DEAD, EXHAUSTED), "audit")
    for message in OutboxMessage.objects.order_by("id"):
        event = decode(bytes(message.body), registry.event_types())
        stays = event.revision > 1 and on_the_way.get(event.material_id)
        if stays == "":
            continue
        sent_at = event.occurred_at + timedelta(milliseconds=41)
        OutboxMessage.objects.filter(pk=message.pk).update(state="sent", sent_at=sent_at)
        for consumer in registry.consumers():
            if not stays or consumer.name == stays:
                inbox.handle(consumer, [event])
                InboxReceipt.objects.filter(consumer=consumer.name, event_id=event.event_id).update(
                    handled_at=sent_at + timedelta(milliseconds=63)
                )
    _fail(RETRYING, TransientError("The row is locked."), times=2)
    inbox.handle(registry.consumer("catalog"), [_twin(_newest_event(DEAD))])
    _fail(DEAD, FactConflict("Revision 2 is another fact already."), times=1)
    _bury("catalog", _newest_event(DEAD).body, reason="FactConflict", attempt=0)
    _fail(EXHAUSTED, TimeoutError("The search index did not answer within 2 s."), times=4)
    _bury("catalog", _newest_event(EXHAUSTED).body, reason="TimeoutError", attempt=3)
    _bury("audit", b'{"eventId": "7c4e', reason="MalformedEvent", attempt=0)


def _fail(material_id: str, error: Exception, *, times: int) -> None:
    event = _newest_event(material_id)
    failure = attempts.Failure(event, 0, error, transient=not isinstance(error, FactConflict))
    for _ in range(times):
        attempts.record(registry.consumer("catalog"), [failure])
    FailedAttempt.objects.filter(event_id=event.event_id).update(
        failed_at=event.occurred_at + timedelta(milliseconds=110)
    )


def _bury(consumer: str, body: bytes, *, reason: str, attempt: int) -> None:
    """As the collector takes it out of the dead queue."""
    delivery = Delivery(
        tag=1,
        redelivered=False,
        body=body,
        message_id=None,
        type=None,
        headers={"attempt": attempt, "reason": reason, "consumer": consumer},
        properties={"timestamp": int(timezone.now().timestamp())},
    )
    arrival = read_arrival(delivery, consumer=consumer, now=timezone.now())
    take_in([arrival], using=DEFAULT_DB_ALIAS)


def _grow_old() -> None:
    """As if it had taken days: all but the newest revisions move into the past, with their way."""
    for age, revision in enumerate(Revision.objects.order_by("-id")):
        if revision.number > 1 and revision.material_id in ON_THE_WAY:
            continue
        ago = timedelta(hours=7 * age, minutes=13 * age % 60, seconds=29 * age % 60)
        fact = {"event_id": revision.event_id}
        Revision.objects.filter(**fact).update(happened_at=F("happened_at") - ago)
        OutboxMessage.objects.filter(**fact).update(
            created_at=F("created_at") - ago, sent_at=F("sent_at") - ago
        )
        InboxReceipt.objects.filter(**fact).update(handled_at=F("handled_at") - ago)
        CatalogEntry.objects.filter(
            material_id=revision.material_id, revision=revision.number
        ).update(published_at=F("published_at") - ago)
        Material.objects.filter(material_id=revision.material_id).update(
            created_at=F("created_at") - ago
        )
        if revision.number == 1:
            Material.objects.filter(material_id=revision.material_id, revision=1).update(
                updated_at=F("updated_at") - ago
            )


def _newest_event(material_id: str) -> Event:
    newest = Revision.objects.filter(material__material_id=material_id).latest("number")
    message = OutboxMessage.objects.get(event_id=newest.event_id)
    return decode(bytes(message.body), registry.event_types())


def _twin(event: Event) -> Event:
    """Another fact of the same revision, as of a producer whose database was put back."""
    document = json.loads(event.body)
    document["eventId"] = str(uuid4())
    document["data"]["summary"] = "What a newsroom of six needs to know of its one file."
    return decode(json.dumps(document).encode(), registry.event_types())
