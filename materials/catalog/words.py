"""How the catalog looks for words: by an index on PostgreSQL, by reading on SQLite.

Both find the same: every word asked for begins a word of the title, the summary or the text, in
any case; a word of one or two letters is such a word as a whole. Signs count too: `c++` is found
where it stands like that. A word of signs alone finds nothing, because no index could serve it.
"""

import re

from django.db import connections, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from materials.catalog.models import CatalogQuerySet

WORDS_LIMIT, PARTS_LIMIT = 8, 24
SHORTEST_BEGINNING = 3


def saying(entries: CatalogQuerySet, text: str) -> CatalogQuerySet:
    """Those of the entries that say every word of the text, of which the first eight count."""
    words = text.split()[:WORDS_LIMIT]
    if not words:
        return entries
    if not all(_PART.search(word) for word in words):
        return entries.none()
    parts = [part for word in words for part in _PART.findall(word)][:PARTS_LIMIT]
    whole = [word for word in words if not _PART.fullmatch(word)]
    if connections[entries.db].vendor == "postgresql":
        return _by_index(entries, parts, whole)
    return _by_reading(entries, parts, whole)


def _by_index(entries: CatalogQuerySet, parts: list[str], whole: list[str]) -> CatalogQuerySet:
    query = " & ".join(
        # Letters and digits alone, so that quoting is enough.
        f"'{part}':*" if len(part) >= SHORTEST_BEGINNING else f"'{part}'"
        for part in parts
    )
    entries = entries.filter(_raw(_SAYS, query.lower()))
    for word in whole:
        entries = entries.filter(_raw(_CONTAINS, word.lower()))
    return entries


def _by_reading(entries: CatalogQuerySet, parts: list[str], whole: list[str]) -> CatalogQuerySet:
    for part in parts:
        end = "" if len(part) >= SHORTEST_BEGINNING else r"(?![^\W_])"
        entries = entries.filter(_anywhere(rf"(?<![^\W_]){re.escape(part)}{end}"))
    for word in whole:
        entries = entries.filter(_anywhere(re.escape(word)))
    return entries


def _anywhere(pattern: str) -> Q:
    # SQLite's LIKE folds ASCII alone; its regular expressions are Python's and fold all.
    return Q(title__iregex=pattern) | Q(summary__iregex=pattern) | Q(body__iregex=pattern)


def _raw(statement: str, value: str) -> RawSQL:
    return RawSQL(statement, [value], models.BooleanField())


# A run of letters and digits.
_PART = re.compile(r"[^\W_]+")

# The column and the function are made by a migration, on PostgreSQL alone.
_SAYS = "catalog_entry.words @@ to_tsquery('simple', %s)"
_CONTAINS = "position(%s IN catalog_small(concat_ws(chr(10), title, summary, body))) > 0"
