"""How materials are searched: by words, by tag, by language, each by an index where one serves.

The column `search_vector` on PostgreSQL and the table `material_words` on SQLite are made by
migrations; both follow from each material's search key (`materials.search_keys`).
"""

import json
from hashlib import sha256

from django.core.cache import cache
from django.db import connections
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from materials.models import Material, MaterialQuerySet
from materials.search_keys import asked_words, words_of

MOST_WORDS = 12
COMMON = 20_000
KEPT_SECONDS = 600


def matching(found: MaterialQuerySet, text: str, *, among_many: bool = False) -> MaterialQuerySet:
    """Those with words that begin like each of these, in id, title, tags or text.

    A word that a sign joins to the next, as in an id, is a word as a whole. Signs alone match
    nothing. With `among_many` the database goes along the materials in their order: SQLite looks
    each up among those that match, PostgreSQL looks at each.
    """
    words = asked_words(text)[:MOST_WORDS]
    if not words:
        return found.none() if text.strip() else found
    if _is_postgresql(found):
        # Letters and digits alone: quoting is enough.
        query = " & ".join(f"'{word}'{'' if whole else ':*'}" for word, whole in words)
        return _where(found, _IS_SEEN_TO_SAY if among_many else _SAYS_ON_POSTGRESQL, query)
    query = " AND ".join(f'"{word}"{"" if whole else "*"}' for word, whole in words)
    return _where(found, _IS_AMONG_ON_SQLITE if among_many else _SAYS_ON_SQLITE, query)


def tagged(found: MaterialQuerySet, tag: str, *, among_many: bool = False) -> MaterialQuerySet:
    """Those that carry exactly this tag; `among_many` as in `matching`."""
    if "\x00" in tag:
        return found.none()  # PostgreSQL cannot be asked for NUL
    if _is_postgresql(found):
        if among_many:
            return _where(found, _IS_SEEN_TO_CARRY, json.dumps([tag]))
        return found.filter(tags__contains=[tag])
    # The words of its tags belong to a material's words, so the index leaves few to be read.
    words = " AND ".join(f'"{word}"' for word in words_of(tag)[:MOST_WORDS])
    near = found
    if words:
        near = _where(found, _IS_AMONG_ON_SQLITE if among_many else _SAYS_ON_SQLITE, words)
    # Most rows are passed over without reading their JSON, in which the tag stands as here.
    return _where(near, _HAS_TAG_ON_SQLITE, json.dumps(tag), tag)


def in_language(found: MaterialQuerySet, language: str, *, by_index: bool) -> MaterialQuerySet:
    """Those whose draft is in it; otherwise than `by_index` the language of each is looked at.

    The index of languages takes half of the materials for few, where so many are in one.
    """
    if by_index:
        return found.filter(language=language)
    return _where(found, _IS_SEEN_TO_BE_IN, language)


def is_common(language: str) -> bool:
    """Whether more than 20 000 drafts are in it; as of some minutes ago."""
    key = f"materials:common:{sha256(language.encode()).hexdigest()}"
    if (kept := cache.get(key)) is None:
        drafts = Material.objects.filter(language=language).order_by()
        kept = drafts[COMMON : COMMON + 1].exists()
        cache.set(key, kept, timeout=KEPT_SECONDS)
    return bool(kept)


_SAYS_ON_POSTGRESQL = "materials_material.search_vector @@ %s::tsquery"
# What is so tested no index is asked for.
_IS_SEEN_TO_SAY = f"({_SAYS_ON_POSTGRESQL}) IS TRUE"
_IS_SEEN_TO_CARRY = "(materials_material.tags @> %s::jsonb) IS TRUE"
_IS_SEEN_TO_BE_IN = "(materials_material.language = %s) IS TRUE"
_SAYS_ON_SQLITE = """materials_material.id IN (
    SELECT rowid FROM material_words WHERE material_words MATCH %s
)"""
# The sign keeps SQLite from going through all that match instead.
_IS_AMONG_ON_SQLITE = f"+{_SAYS_ON_SQLITE}"
_HAS_TAG_ON_SQLITE = """(
    instr(materials_material.tags, %s)
    AND EXISTS (SELECT 1 FROM json_each(materials_material.tags) WHERE json_each.value = %s)
)"""


def _is_postgresql(found: MaterialQuerySet) -> bool:
    return connections[found.db].vendor == "postgresql"


def _where(found: MaterialQuerySet, statement: str, *parameters: str) -> MaterialQuerySet:
    return found.filter(RawSQL(statement, parameters, BooleanField()))
