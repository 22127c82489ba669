"""What the list shows: a selection that is written in the address, and read from it with care.

What an address says oddly counts as not said.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connections
from django.db.models import Q
from django.utils.translation import gettext as _

from materials.models import Material, MaterialQuerySet, Schedule
from materials.searching import in_language, is_common, matching, tagged
from materials.whereabouts import DELIVERIES, delivered

LONGEST_WORDS = 200
MOST_CHOICES = 200

STATES = ("draft", "published", "changed", "withdrawn", "scheduled")
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

    @property
    def order(self) -> tuple[str, ...]:
        """The names to sort by, as Django takes them; an index has them in this order."""
        return SORTS[self.sort or "edited"]

    @property
    def is_searched(self) -> bool:
        """Whether by words or a tag."""
        return bool(self.words or self.tag)

    def materials(self, *, among_many: bool = False) -> MaterialQuerySet:
        """The materials, in order.

        Those `among_many` are asked for in a way that is quick where so many pass that a page of
        them is soon met.
        """
        found = matching(Material.objects.all(), self.words, among_many=among_many)
        if self.state:
            found = found.filter(_STATES[self.state])
        if self.delivery:
            found = delivered(found, self.delivery)
        if self.tag:
            found = tagged(found, self.tag, among_many=among_many)
        if self.language:
            by_index = self._asks_for_language_first(among_many=among_many)
            found = in_language(found, self.language, by_index=by_index)
        if self.author:
            found = found.filter(updated_by=self.author)
        return found.order_by(*self.order)

    def _asks_for_language_first(self, *, among_many: bool) -> bool:
        by_date = self.order[0].endswith("updated_at")  # as the index of languages goes on
        if among_many:
            return by_date and not self.is_searched
        return not (self.is_searched and is_common(self.language))


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


def _distinct(column: str) -> list[str]:
    """The first MOST_CHOICES values, each found by one step along the index that begins with it."""
    with connections[Material.objects.db].cursor() as cursor:
        cursor.execute(_NEXT_VALUES.format(column=column), [MOST_CHOICES])
        return [value for (value,) in cursor.fetchall()]


_NEXT_VALUES = """
    WITH RECURSIVE each (value) AS (
        SELECT MIN({column}) FROM materials_material WHERE {column} > ''
        UNION ALL
        SELECT (SELECT MIN({column}) FROM materials_material WHERE {column} > value)
        FROM each WHERE value IS NOT NULL
    )
    SELECT value FROM each WHERE value IS NOT NULL LIMIT %s
"""

_STATES = {
    "draft": Q(state=Material.State.DRAFT),
    "published": Q(state=Material.State.PUBLISHED),
    "changed": Q(state=Material.State.PUBLISHED, differs=True),
    "withdrawn": Q(state=Material.State.WITHDRAWN),
    "scheduled": Q(material_id__in=Schedule.objects.pending().order_by().values("material_id")),
}
