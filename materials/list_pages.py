"""The pages of the editors' list: numbered, bounded, cut out of an index before rows are read."""

from collections.abc import Sequence
from typing import overload

from django.core.paginator import Page, Paginator
from django.db.models.functions import Coalesce

from materials.models import Material, MaterialQuerySet

PAGE_SIZE = 50
MOST_LISTED = 2_500


def page_of(found: MaterialQuerySet, number: str | None) -> Page[Material]:
    """That page, or the nearest one there is, without the materials' texts. Three queries.

    A list ends after 2 500 materials (`is_cut` of the page then): to count and to pass over more
    of them takes too long for a page.
    """
    rows = _Rows(found)
    page = Paginator(rows, PAGE_SIZE).get_page(number)
    page.is_cut = rows.is_cut  # type: ignore[attr-defined]
    return page


class _Rows(Sequence[Material]):
    """What the paginator counts and slices: first the keys, then the rows that have them."""

    def __init__(self, found: MaterialQuerySet) -> None:
        count = found.order_by().values("pk")[: MOST_LISTED + 1].count()
        self.is_cut = count > MOST_LISTED
        self._count = min(count, MOST_LISTED)
        self._keys = (found if self.is_cut else _sorted_apart(found)).values_list("pk", flat=True)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Material: ...
    @overload
    def __getitem__(self, place: slice) -> list[Material]: ...
    def __getitem__(self, place: int | slice) -> Material | list[Material]:
        if isinstance(place, int):
            return self[place : place + 1][0]
        keys = list(self._keys[place])
        rows = Material.objects.defer("body", "summary", "search_key").in_bulk(keys)
        return [rows[key] for key in keys if key in rows]


def _sorted_apart(few: MaterialQuerySet) -> MaterialQuerySet:
    """The same order by an expression that no index has.

    A database that takes few for many would walk through all materials in the index's order.
    """
    first, *rest = few.query.order_by
    name = str(first).removeprefix("-")
    column = Coalesce(name, name)
    return few.order_by(column.desc() if str(first).startswith("-") else column.asc(), *rest)
