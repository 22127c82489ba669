"""Which materials are where: the list's filter by the delivery of each material's last fact.

It tells trouble from the parked messages and the letters; a failure that nobody has collected yet
is told by the row. Facts that few share are looked up from their own side, because a list of a
million materials must not be read for a handful.
"""

from django.db.models import Exists, OuterRef, Q

from materials.models import MaterialQuerySet, Revision
from messaging.models import DeadLetter, InboxReceipt, OutboxMessage

DELIVERIES = ("waiting", "sent", "arrived", "trouble")

# What is sent is applied a moment later: looked for among so many of the newest facts.
NEWEST_FACTS = 5_000


def delivered(found: MaterialQuerySet, delivery: str) -> MaterialQuerySet:
    """Those of the materials whose last fact is there; `delivery` is one of DELIVERIES.

    `sent` holds what stands among the newest 5 000 facts of all materials.
    """
    if delivery == "trouble":
        return found.filter(_are_in_trouble(), _is_parked() | _is_dead())
    found = found.filter(~_is_parked(), ~_is_dead())
    if delivery == "waiting":
        return found.filter(_are_waiting(), _waits())
    if delivery == "arrived":
        return found.filter(_has_arrived() | ~_is_kept(), ~_waits(), revision__gte=1)
    return found.filter(_are_new_and_not_there(), _is_kept(), ~_has_arrived(), ~_waits())


_LAST = {"material_id": OuterRef("material_id"), "revision": OuterRef("revision")}
_PARKED = OutboxMessage.objects.failed().filter(consumer="").order_by()
_WAITING = OutboxMessage.objects.pending().filter(consumer="").order_by()
_DEAD = DeadLetter.objects.filter(
    state__in=[DeadLetter.State.OPEN, DeadLetter.State.DISCARDED]
).order_by()
_ARRIVED = InboxReceipt.objects.filter(consumer="catalog", names_revision=True).order_by()


def _is_parked() -> Exists:
    return Exists(_PARKED.filter(**_LAST))


def _is_dead() -> Exists:
    return Exists(_DEAD.filter(**_LAST))


def _waits() -> Exists:
    return Exists(_WAITING.filter(**_LAST))


def _is_kept() -> Exists:
    """Its message has not been cleaned up, as happens long after it was sent."""
    return Exists(OutboxMessage.objects.filter(**_LAST, consumer="").order_by())


def _has_arrived() -> Exists:
    return Exists(_ARRIVED.filter(**_LAST))


def _are_in_trouble() -> Q:
    ids = _PARKED.values("material_id").union(_DEAD.values("material_id"))
    return Q(material_id__in=ids)


def _are_waiting() -> Q:
    return Q(material_id__in=_WAITING.values("material_id"))


def _are_new_and_not_there() -> Q:
    # As ids, so that no count or page has to look them up again. Cut out first: a database cannot
    # guess how many lie beyond what it has yet to look up.
    newest = Revision.objects.order_by("-pk").values("pk")[:NEWEST_FACTS]
    there = _ARRIVED.filter(material_id=OuterRef("material_id"), revision=OuterRef("number"))
    ids = Revision.objects.filter(~Exists(there), pk__in=newest).order_by().values_list("material")
    return Q(material_id__in={material_id for (material_id,) in ids})
