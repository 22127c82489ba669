"""How many entries there are, and what follows from it for asking."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from django.core.cache import cache
from django.db.models.functions import Coalesce

from materials.catalog.models import CatalogQuerySet

# Up to here every question is answered anew; counting so many takes milliseconds. Of a million
# entries, those that 4 000 share are as soon read as 20 of them are met along the index of dates.
COUNTED_EACH_TIME = 4_000
KEPT_SECONDS = 60
# Of a process's time at most one part in a hundred goes into what is counted anew.
KEPT_PER_SECOND_OF_WORK = 100

Answer = TypeVar("Answer")


def count(entries: CatalogQuerySet, *, name: str) -> int:
    """Exact up to 4 000 entries; beyond, as it was at most a minute ago (longer if slow).

    `name` tells one set of entries from others.
    """
    return keep(
        entries.order_by().count,
        name=f"count {name}",
        worth_it=lambda found: found > COUNTED_EACH_TIME,
    )


def count_a_few(entries: CatalogQuerySet, *, name: str) -> int:
    """Exact up to 4 000 entries; 4 001 where there are more, or were a minute ago."""
    many = _key(f"many {name}")
    if cache.get(many):
        return COUNTED_EACH_TIME + 1
    few = entries.order_by().values("pk")[: COUNTED_EACH_TIME + 1].count()
    if few > COUNTED_EACH_TIME:
        cache.set(many, True, timeout=KEPT_SECONDS)
    return few


def sorted_apart(few: CatalogQuerySet) -> CatalogQuerySet:
    """The newest first, for at most 4 000 entries: by an expression that no index has.

    A database that takes few for many would walk through the whole catalog in the index's order.
    """
    return few.order_by(Coalesce("published_at", "published_at").desc(), "material_id")


def keep(
    work_out: Callable[[], Answer],
    *,
    name: str,
    worth_it: Callable[[Answer], bool] = lambda _answer: True,
) -> Answer:
    """The answer of at most a minute ago, or of 100 times as long ago as it takes to find.

    One that is not `worth_it` is worked out each time.
    """
    key = _key(name)
    kept: Answer | None = cache.get(key)
    if kept is not None:
        return kept
    began = time.monotonic()
    answer = work_out()
    taken = time.monotonic() - began
    if worth_it(answer):
        cache.set(key, answer, timeout=max(KEPT_SECONDS, KEPT_PER_SECOND_OF_WORK * taken))
    return answer


def _key(name: str) -> str:
    return f"catalog:{sha256(name.encode('utf-8', 'replace')).hexdigest()}"
