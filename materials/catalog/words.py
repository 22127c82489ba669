"""How the catalog looks for words: by an index, on either database.

Every word asked for begins a word of the title, the summary or the text, in any case; a word of one
or two letters is such a word as a whole, and so is one that a sign joins to the next: in
`article-107` the `article`. Signs count too: `c++` is found where it stands like that. A word of
signs alone finds nothing, because no index could serve it.
"""

import re

from django.db import connections, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from materials.catalog.models import CatalogQuerySet
from materials.search_keys import asked_words, words_of

WORDS_LIMIT, PARTS_LIMIT = 8, 24
_Asked = list[tuple[str, bool]]
SHORTEST_BEGINNING = 3


def saying(entries: CatalogQuerySet, text: str, *, among_many: bool = False) -> CatalogQuerySet:
    """Those of the entries that say every word of the text, of which the first eight count.

    With `among_many` SQLite goes along the entries and looks each up among those that say them.
    """
    words = text.split()[:WORDS_LIMIT]
    if not words:
        return entries
    if not all(words_of(word) for word in words):
        return entries.none()
    parts = [part for word in words for part in asked_words(word)][:PARTS_LIMIT]
    # What is more than its letters is narrowed by them, and then looked for as it stands.
    whole = [word for word in words if not _PART.fullmatch(word)]
    if connections[entries.db].vendor == "postgresql":
        return _on_postgresql(entries, parts, whole)
    return _on_sqlite(entries, parts, whole, among_many=among_many)


def more_say_than(number: int, text: str, *, using: str) -> bool:
    """Whether more entries say these words, told by SQLite's index without a look at them.

    False also where it cannot tell, and on PostgreSQL, which counts as quickly by its own.
    """
    words = text.split()[:WORDS_LIMIT]
    if connections[using].vendor != "sqlite" or not all(map(_PART.fullmatch, words)):
        return False
    if not all(words_of(word) for word in words):
        return False
    parts = [part for word in words for part in asked_words(word)][:PARTS_LIMIT]
    query = _query_on_sqlite(parts)
    with connections[using].cursor() as cursor:
        cursor.execute(_COUNT_ON_SQLITE, [query, number + 1])
        return bool(cursor.fetchone()[0] > number)


def _on_postgresql(entries: CatalogQuerySet, parts: _Asked, whole: list[str]) -> CatalogQuerySet:
    # Letters and digits alone, so that quoting is enough.
    query = " & ".join(f"'{part}'{_end(part, ':*', whole)}" for part, whole in parts)
    entries = entries.filter(_raw(_SAYS_ON_POSTGRESQL, query))
    for word in whole:
        entries = entries.filter(_raw(_CONTAINS, word.lower()))
    return entries


def _on_sqlite(
    entries: CatalogQuerySet, parts: _Asked, whole: list[str], *, among_many: bool
) -> CatalogQuerySet:
    says = _IS_AMONG_ON_SQLITE if among_many else _SAYS_ON_SQLITE
    entries = entries.filter(_raw(says, _query_on_sqlite(parts)))
    for word in whole:
        # SQLite's LIKE folds ASCII alone; its regular expressions are Python's and fold all.
        pattern = re.escape(word)
        entries = entries.filter(
            Q(title__iregex=pattern) | Q(summary__iregex=pattern) | Q(body__iregex=pattern)
        )
    return entries


def _query_on_sqlite(parts: _Asked) -> str:
    return " AND ".join(f'"{part}"{_end(part, "*", whole)}' for part, whole in parts)


def _end(part: str, beginning: str, whole: bool) -> str:
    return "" if whole or len(part) < SHORTEST_BEGINNING else beginning


def _raw(statement: str, value: str) -> RawSQL:
    return RawSQL(statement, [value], models.BooleanField())


# A run of letters and digits.
_PART = re.compile(r"[^\W_]+")

# The columns, tables and functions are made by migrations.
_SAYS_ON_POSTGRESQL = "catalog_entry.words @@ %s::tsquery"
_SAYS_ON_SQLITE = """catalog_entry.material_id IN (
    SELECT material_id FROM catalog_text
    WHERE id IN (SELECT rowid FROM catalog_words WHERE catalog_words MATCH %s)
)"""
_IS_AMONG_ON_SQLITE = """EXISTS (
    SELECT 1 FROM catalog_text WHERE catalog_text.material_id = catalog_entry.material_id
    AND id IN (SELECT rowid FROM catalog_words WHERE catalog_words MATCH %s)
)"""
_COUNT_ON_SQLITE = """SELECT COUNT(*) FROM (
    SELECT 1 FROM catalog_words WHERE catalog_words MATCH %s LIMIT %s
)"""
_CONTAINS = "position(%s IN catalog_small(concat_ws(chr(10), title, summary, body))) > 0"
