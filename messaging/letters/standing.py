"""Where the projection stands towards a letter: what sending it again would change, if anything.

Told from receipts alone, so it costs a lookup; `dry_run` tries it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from messaging import registry
from messaging.errors import FactConflict, MalformedEvent, UnsupportedEvent
from messaging.letters import redrives
from messaging.models import DeadLetter, InboxReceipt
from messaging.registry import Consumer


class Kind(StrEnum):
    ALREADY_APPLIED = "already applied"
    SUPERSEDED = "superseded"
    WOULD_APPLY = "would apply"
    CONFLICTS = "conflicts"
    CANNOT_BE_READ = "cannot be read"
    NO_CONSUMER = "no consumer"


@dataclass(frozen=True, slots=True)
class Standing:
    """`revision` is the newer one that supersedes the letter's, if one does."""

    kind: Kind
    revision: int | None = None

    def __str__(self) -> str:
        by = f" by revision {self.revision}" if self.revision is not None else ""
        return f"{self.kind}{by}"


def standing(letter: DeadLetter) -> Standing:
    """Where things stand now for this letter and its consumer. A handful of queries."""
    redrive = redrives.prepare(letter)
    if redrive.why_impossible():
        return Standing(Kind.NO_CONSUMER)
    event = redrive.event
    if event is None:
        return Standing(Kind.CANNOT_BE_READ)
    consumer = registry.consumer(letter.consumer)
    receipts = InboxReceipt.objects.using(consumer.database).filter(consumer=consumer.name)
    own = receipts.filter(event_id=event.event_id).first()
    if own is not None:
        same = bytes(own.fingerprint) == event.fingerprint
        return Standing(Kind.ALREADY_APPLIED if same else Kind.CONFLICTS)
    of_material = receipts.filter(material_id=event.material_id, names_revision=True)
    twin = of_material.filter(revision=event.revision).first()
    if twin is not None and bytes(twin.content_fingerprint) != event.content_fingerprint:
        return Standing(Kind.CONFLICTS)
    if consumer.newest_wins:
        newest = of_material.filter(revision__gte=event.revision).order_by("revision").last()
        if newest is not None:
            return Standing(Kind.SUPERSEDED, newest.revision)
    return Standing(Kind.WOULD_APPLY)


_IDS_SAY_NOTHING = [each.__name__ for each in (FactConflict, MalformedEvent, UnsupportedEvent)]

Letters = TypeVar("Letters", bound=QuerySet[DeadLetter])


def with_standing(letters: Letters) -> Letters:
    """Each letter with `is_applied` and `is_superseded`, to be shown and filtered by in lists.

    By event id and revision alone, without reading bodies: so not for what was refused since it
    could not be read or since another fact has its ids, nor for consumers whose receipts are in
    another database. Both are false for those.
    """
    here = [each for each in registry.consumers() if each.database == letters.db]
    awaited = Coalesce(OuterRef("sent_event_id"), OuterRef("event_id"))
    applied = _any_receipt(here, event_id=awaited)
    overtaken = _any_receipt(
        [each for each in here if each.newest_wins],
        material_id=OuterRef("material_id"),
        revision__gt=OuterRef("revision"),
        names_revision=True,
    )
    return letters.annotate(
        is_applied=_of_what_its_ids_say(applied), is_superseded=_of_what_its_ids_say(overtaken)
    )


def _of_what_its_ids_say(known: Exists | Value) -> "ExpressionWrapper[Any]":
    doubtful = Q(reason__in=_IDS_SAY_NOTHING)
    return ExpressionWrapper(Q(~doubtful) & Q(known), output_field=BooleanField())


def superseded(letters: Letters) -> Letters:
    """Those of them that a newer revision, already applied, has overtaken."""
    annotated: Any = with_standing(letters)
    found: Letters = annotated.filter(is_superseded=True)
    return found


def _any_receipt(consumers: list[Consumer], **of_letter: object) -> Exists | Value:
    if not consumers:
        return Value(value=False, output_field=BooleanField())
    names = [consumer.name for consumer in consumers]
    receipts = InboxReceipt.objects.filter(
        Q(consumer=OuterRef("consumer")), Q(consumer__in=names), **of_letter
    )
    return Exists(receipts)
