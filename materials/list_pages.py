"""The pages of the editors' list: numbered, bounded, cut out of an index before rows are read."""

from collections.abc import Sequence
from typing import Any, overload

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db import connections
from django.db.models.functions import Coalesce

from materials.listing import Selection
from materials.models import Material, MaterialQuerySet

PAGE_SIZE = 50
MOST_LISTED = 1_000

# What many share is met early among all materials in the list's order: one by one among the first
# few, or some more of them; by two indexes among as many as those few let expect. Among the most of
# them it takes longer than to count all that is found.
FIRST_FEW, FIRST_SOME = 2_000, (10_000,)
FIRST_MANY, FIRST_MOST = (25_000, 50_000), (100_000, 200_000)
KEPT_SECONDS = 600


def page_of(selection: Selection, number: str | None) -> Page[Material]:
    """That page, or the nearest one there is, without the materials' texts.

    A list ends after 1 000 materials (`is_cut` of the page then): to count and to pass over more
    of them takes too long for a page. Three queries; for what is looked for by words or a tag on
    PostgreSQL up to three more, and four once in ten minutes.
    """
    rows = _SearchedRows(selection) if _is_searched_on_postgresql(selection) else _Rows(selection)
    page = Paginator(rows, PAGE_SIZE).get_page(number)
    page.is_cut = rows.is_cut  # type: ignore[attr-defined]
    return page


def _is_searched_on_postgresql(selection: Selection) -> bool:
    return selection.is_searched and connections[Material.objects.db].vendor == "postgresql"


class _Rows(Sequence[Material]):
    """What the paginator counts and slices: first the keys, then the rows that have them."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._found = selection.materials()
        count = self._counted()
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

    def _counted(self) -> int:
        """One more than are listed, where there are more."""
        return self._found.order_by().values("pk")[: MOST_LISTED + 1].count()

    def _keys(self, place: slice) -> list[int]:
        if self.is_cut:
            return _keys_of(self._selection.materials(among_many=True), place)
        return _keys_of(_sorted_apart(self._found), place)


class _SearchedRows(_Rows):
    """Those that an index of words or tags finds, on PostgreSQL: each look at it takes long."""

    def _counted(self) -> int:
        self._few = self._met = self._keys_until(FIRST_FEW, one_by_one=True)
        if len(self._few) <= MOST_LISTED:
            self._met = self._met_among_more() or self._few
        if len(self._met) > MOST_LISTED:
            return len(self._met)
        self._all = list(self._found.order_by().values_list("pk", flat=True)[: MOST_LISTED + 1])
        return len(self._all)

    def _keys(self, place: slice) -> list[int]:
        if not self.is_cut:
            found = Material.objects.filter(pk__in=self._all).order_by(*self._selection.order)
            return _keys_of(found, place)
        if place.stop <= len(self._met):
            return self._met[place]
        if size := self._enough_for(place.stop, FIRST_MANY + FIRST_MOST):
            keys = self._keys_until(size)
            if place.stop <= len(keys):
                return keys[place]
        return _keys_of(self._found, place)

    def _met_among_more(self) -> list[int]:
        if size := self._enough_for(MOST_LISTED + 1, FIRST_SOME):
            return self._keys_until(size, one_by_one=True)
        if size := self._enough_for(MOST_LISTED + 1, FIRST_MANY):
            return self._keys_until(size)
        return []

    def _enough_for(self, wanted: int, sizes: Sequence[int]) -> int | None:
        """Among how many first materials so many are to be expected."""
        hardly = 1.5 * wanted * FIRST_FEW
        return next((size for size in sizes if size * len(self._few) > hardly), None)

    def _keys_until(self, size: int, *, one_by_one: bool = False) -> list[int]:
        """One more key than is listed, of those found among so many first materials of all."""
        order = self._selection.order
        name = order[0].removeprefix("-")
        if (last := _value_at(size, order)) is None:
            return []
        if one_by_one:
            found = self._selection.materials(among_many=True)
        else:
            found = _sorted_apart(self._found)
        until = f"{name}__{'gte' if order[0].startswith('-') else 'lte'}"
        return _keys_of(found.filter(**{until: last}), slice(MOST_LISTED + 1))


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
