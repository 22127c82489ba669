"""The pages of the editors' list: numbered, bounded, cut out of an index before rows are read."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db import connections
from django.db.models.functions import Coalesce

from materials.listing import Selection
from materials.models import Material, MaterialQuerySet

PAGE_SIZE = 50
MOST_LISTED = 1_000

# What many share is looked for among so many of the first materials in the list's order: one by
# one where nearly all share it, and by two indexes together.
FIRST_FEW, FIRST_MANY = 2_000, 50_000
KEPT_SECONDS = 600


def page_of(selection: Selection, number: str | None) -> Page[Material]:
    """That page, or the nearest one there is, without the materials' texts.

    A list ends after 1 000 materials (`is_cut` of the page then): to count and to pass over more
    of them takes too long for a page. Three queries; up to four more, two of them once in ten
    minutes, for what is looked for by words or a tag on PostgreSQL.
    """
    rows = _Rows(selection)
    page = Paginator(rows, PAGE_SIZE).get_page(number)
    page.is_cut = rows.is_cut  # type: ignore[attr-defined]
    return page


class _Rows(Sequence[Material]):
    """What the paginator counts and slices: first the keys, then the rows that have them."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._found = selection.materials()
        count = self._found.order_by().values("pk")[: MOST_LISTED + 1].count()
        self.is_cut = count > MOST_LISTED
        self._count = min(count, MOST_LISTED)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Material: ...
    @overload
    def __getitem__(self, place: slice) -> list[Material]: ...
    def __getitem__(self, place: int | slice) -> Material | list[Material]:
        if isinstance(place, int):
            return self[place : place + 1][0]
        keys = self._keys(place)
        rows = Material.objects.without_texts().in_bulk(keys)
        return [rows[key] for key in keys if key in rows]

    def _keys(self, place: slice) -> list[int]:
        if not self.is_cut:
            return _keys_of(_sorted_apart(self._found), place)
        keys: list[int] = []
        for within in self._ways():
            keys = _keys_of(within, place)
            if len(keys) == place.stop - place.start:
                break
        return keys

    def _ways(self) -> Iterator[MaterialQuerySet]:
        """Beginnings of the list, the quickest to look at first, and at last all of it."""
        along = self._selection.materials(among_many=True)
        searched = self._selection.words or self._selection.tag
        if not searched or connections[self._found.db].vendor != "postgresql":
            yield along
            return
        yield from self._windows(along)
        yield self._found

    def _windows(self, along: MaterialQuerySet) -> Iterator[MaterialQuerySet]:
        name = self._selection.order[0]
        until = f"{name.removeprefix('-')}__{'gte' if name.startswith('-') else 'lte'}"
        for size in (FIRST_FEW, FIRST_MANY):
            last = _value_at(size, self._selection.order)
            if last is None:
                return
            if size == FIRST_FEW:
                yield along.filter(**{until: last})
            else:
                yield _sorted_apart(self._found.filter(**{until: last}))


def _keys_of(found: MaterialQuerySet, place: slice) -> list[int]:
    return list(found.values_list("pk", flat=True)[place])


_UNKNOWN = object()


def _value_at(number: int, order: Sequence[str]) -> Any:
    """What the material at that place of all has in the first column; of some minutes ago."""
    key = f"materials:{number}:{order[0]}"
    if (kept := cache.get(key, _UNKNOWN)) is _UNKNOWN:
        names = Material.objects.order_by(*order).values_list(order[0].removeprefix("-"), flat=True)
        kept = names[number : number + 1].first()
        cache.set(key, kept, timeout=KEPT_SECONDS)
    return kept


def _sorted_apart(few: MaterialQuerySet) -> MaterialQuerySet:
    """The same order by an expression that no index has.

    A database that takes few for many would walk through all materials in the index's order.
    """
    first, *rest = few.query.order_by
    name = str(first).removeprefix("-")
    column = Coalesce(name, name)
    return few.order_by(column.desc() if str(first).startswith("-") else column.asc(), *rest)
