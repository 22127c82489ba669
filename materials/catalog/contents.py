"""The tags and languages of what is published, each with its count: ways into the catalog."""

from collections import Counter
from dataclasses import dataclass

from django.db import connections, models

from materials.catalog.counting import keep_when_many
from materials.catalog.models import CatalogEntry, name_of_language

TAGS_SHOWN = 500


@dataclass(frozen=True)
class Shelf:
    """Entries that have something in common."""

    value: str
    name: str
    count: int


def tags() -> list[Shelf]:
    """The 500 most frequent tags, the most frequent first."""
    return keep_when_many(_tags, name="tags")


def languages() -> list[Shelf]:
    """The languages, each with all its varieties (`en` holds `en-GB`), most frequent first."""
    return keep_when_many(_languages, name="languages")


def _tags() -> list[Shelf]:
    connection = connections[CatalogEntry.objects.db]
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_TAGS[connection.vendor], [TAGS_SHOWN])
        return [Shelf(value, value, number) for value, number in cursor.fetchall()]


# An event may name a tag twice: the inner SELECT takes it once.
_COUNT_TAGS = {
    "postgresql": """
        SELECT tag, COUNT(*) FROM catalog_entry CROSS JOIN LATERAL
            (SELECT DISTINCT value FROM jsonb_array_elements_text(tags) AS each (value)) AS t (tag)
        WHERE visible GROUP BY tag ORDER BY COUNT(*) DESC, tag LIMIT %s
    """,
    "sqlite": """
        SELECT value, COUNT(DISTINCT material_id) FROM catalog_entry, json_each(tags)
        WHERE visible GROUP BY value ORDER BY COUNT(DISTINCT material_id) DESC, value LIMIT %s
    """,
}


def _languages() -> list[Shelf]:
    found: Counter[str] = Counter()
    spoken = CatalogEntry.objects.filter(visible=True).exclude(language="").order_by()
    for language, number in spoken.values_list("language").annotate(models.Count("pk")):
        found[language.partition("-")[0].lower()] += number
    return [Shelf(value, name_of_language(value), number) for value, number in found.most_common()]
