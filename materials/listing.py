"""What the list shows: a selection that is written in the address, and read from it with care.

What an address says oddly counts as not said. The filter by delivery tells trouble from the
parked messages and the letters; a failure that nobody has collected yet is told by the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from materials.models import Material, MaterialQuerySet, Schedule
from messaging.models import DeadLetter, InboxReceipt, OutboxMessage

LONGEST_WORDS = 200
MOST_CHOICES = 200

STATES = ("draft", "published", "changed", "withdrawn", "scheduled")
DELIVERIES = ("waiting", "sent", "arrived", "trouble")
SORTS = {
    "edited": ("-updated_at", "-id"),
    "oldest": ("updated_at", "id"),
    "title": ("title", "material_id"),
    "id": ("material_id",),
}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which materials, in which order; every part empty means all, the last edited first."""

    words: str = ""
    state: str = ""
    delivery: str = ""
    tag: str = ""
    language: str = ""
    author: str = ""
    sort: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Selection":
        """Read the address. A state, delivery or sort that does not exist is passed over."""

        def text(name: str) -> str:
            return (
                query.get(name, "")
                .strip()[:LONGEST_WORDS]
                .replace("\x00", "\N{REPLACEMENT CHARACTER}")
            )

        def one_of(name: str, known: tuple[str, ...]) -> str:
            return query.get(name, "") if query.get(name) in known else ""

        return cls(
            words=text("q"),
            state=one_of("state", STATES),
            delivery=one_of("delivery", DELIVERIES),
            tag=text("tag"),
            language=text("language"),
            author=text("author"),
            sort=one_of("sort", tuple(SORTS)),
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether some materials are left out."""
        return self != Selection(sort=self.sort)

    def materials(self) -> MaterialQuerySet:
        """The materials, in order, without their texts."""
        found = Material.objects.matching(self.words)
        if self.state:
            found = found.filter(_STATES[self.state])
        if self.delivery:
            found = _delivered(found, self.delivery)
        if self.tag:
            found = found.tagged(self.tag)
        if self.language:
            found = found.filter(language=self.language)
        if self.author:
            found = found.filter(updated_by=self.author)
        return found.order_by(*SORTS[self.sort or "edited"])


def choices() -> dict[str, list[tuple[str, str]]]:
    """What each part of a selection may be, with the words for it. Two queries."""
    return {
        "states": [
            ("draft", _("drafts")),
            ("published", _("published")),
            ("changed", _("changes not published")),
            ("withdrawn", _("withdrawn")),
            ("scheduled", _("scheduled")),
        ],
        "deliveries": [
            ("waiting", _("waiting")),
            ("sent", _("sent")),
            ("arrived", _("in the catalog")),
            ("trouble", _("in trouble")),
        ],
        "languages": [(value, value) for value in _distinct("language")],
        "authors": [(value, value) for value in _distinct("updated_by")],
        "sorts": [
            ("edited", _("last edited first")),
            ("oldest", _("last edited last")),
            ("title", _("by title")),
            ("id", _("by id")),
        ],
    }


def _distinct(field: str) -> list[str]:
    values = Material.objects.order_by(field).values_list(field, flat=True).distinct()
    return [value for value in values[:MOST_CHOICES] if value]


_LAST = {"material_id": OuterRef("material_id"), "revision": OuterRef("revision")}
_STATES = {
    "draft": Q(state=Material.State.DRAFT),
    "published": Q(state=Material.State.PUBLISHED),
    "changed": Q(state=Material.State.PUBLISHED, differs=True),
    "withdrawn": Q(state=Material.State.WITHDRAWN),
    "scheduled": Q(Exists(Schedule.objects.pending().filter(material_id=OuterRef("material_id")))),
}


def _delivered(found: MaterialQuerySet, delivery: str) -> MaterialQuerySet:
    arrived = Q(
        Exists(InboxReceipt.objects.filter(consumer="catalog", names_revision=True, **_LAST))
    )
    trouble = _among(OutboxMessage.objects.failed().filter(consumer="")) | _among(
        DeadLetter.objects.filter(state__in=[DeadLetter.State.OPEN, DeadLetter.State.DISCARDED])
    )
    waiting = _among(OutboxMessage.objects.pending().filter(consumer=""))
    if delivery == "trouble":
        return found.filter(trouble)
    if delivery == "waiting":
        return found.filter(waiting).exclude(trouble)
    found = found.filter(revision__gte=1).exclude(trouble)
    if delivery == "arrived":
        return found.filter(arrived).exclude(waiting)
    return found.exclude(arrived).exclude(waiting)


def _among(few: QuerySet[Any]) -> Q:
    """Materials whose last fact is among these; few in life, so looked up from their side first."""
    return Q(material_id__in=few.order_by().values("material_id")) & Q(
        Exists(few.order_by().filter(**_LAST))
    )
