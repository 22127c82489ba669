"""The tags and languages of what is published, each with its count: ways into the catalog.

Counted among the newest 10 000 materials, so that a page never has to read a million rows; of a
large catalog once a minute.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connections

from materials.catalog.counting import COUNTED_EACH_TIME, count_a_few, keep
from materials.catalog.models import CatalogEntry, name_of_language

TAGS_SHOWN = 200
NEWEST_COUNTED = 10_000


@dataclass(frozen=True)
class Shelf:
    """Entries that have something in common."""

    value: str
    name: str
    count: int


@dataclass(frozen=True)
class Contents:
    """The shelves; `is_cut` where there are more materials than were counted."""

    shelves: list[Shelf]
    is_cut: bool = False


def tags() -> Contents:
    """The 200 most frequent tags, the most frequent first."""
    return _kept_where_large(_count_tags, name="tags")


def languages() -> Contents:
    """The languages, each with all its varieties (`en` holds `en-GB`), most frequent first."""
    return _kept_where_large(_count_languages, name="languages")


def _kept_where_large(count: Callable[[], list[Shelf]], *, name: str) -> Contents:
    every = CatalogEntry.objects.published()
    if count_a_few(every, name="every entry") <= COUNTED_EACH_TIME:
        return Contents(count())
    more = every.order_by().values("pk")[: NEWEST_COUNTED + 1]
    return keep(lambda: Contents(count(), is_cut=more.count() > NEWEST_COUNTED), name=name)


def _count_tags() -> list[Shelf]:
    connection = connections[CatalogEntry.objects.db]
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_TAGS[connection.vendor], [NEWEST_COUNTED, TAGS_SHOWN])
        return [Shelf(value, value, number) for value, number in cursor.fetchall()]


def _count_languages() -> list[Shelf]:
    spoken = CatalogEntry.objects.published().values_list("language", flat=True)
    found = Counter(
        language.partition("-")[0].lower() for language in spoken[:NEWEST_COUNTED] if language
    )
    return [Shelf(value, name_of_language(value), number) for value, number in found.most_common()]


_NEWEST = """(
    SELECT material_id, tags FROM catalog_entry WHERE visible
    ORDER BY published_at DESC, material_id LIMIT %s
) AS newest"""

# An event may name a tag twice: the material counts once.
_GROUPED = """
    GROUP BY value ORDER BY COUNT(DISTINCT material_id) DESC, value LIMIT %s
"""

_COUNT_TAGS = {
    "postgresql": f"SELECT value, COUNT(DISTINCT material_id) FROM {_NEWEST},"
    f" jsonb_array_elements_text(tags) AS each (value) {_GROUPED}",
    "sqlite": f"SELECT value, COUNT(DISTINCT material_id) FROM {_NEWEST}, json_each(tags)"
    f" {_GROUPED}",
}
