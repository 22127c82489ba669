"""The pages of a long list: numbered, and cut out of the index before any text is read."""

from collections.abc import Sequence
from typing import overload

from django.core.paginator import Page, Paginator

from materials.catalog.counting import COUNTED_EACH_TIME, count_a_few, sorted_apart
from materials.catalog.models import CatalogEntry
from materials.catalog.selection import Selection

PAGE_SIZE = 20


def page_of(selection: Selection, number: str) -> Page[CatalogEntry]:
    """That page of what is selected, or the nearest one there is.

    A list ends after 4 000 entries (`is_cut` of the page then): to count and to pass over more
    of them takes too long for a page.
    """
    rows = _Rows(selection)
    page = Paginator(rows, PAGE_SIZE).get_page(number)
    page.is_cut = rows.is_cut  # type: ignore[attr-defined]
    return page


class _Rows(Sequence[CatalogEntry]):
    """What the paginator counts and slices: first the ids, then the rows that have them."""

    def __init__(self, selection: Selection) -> None:
        found = COUNTED_EACH_TIME + 1
        if not selection.has_more_than(COUNTED_EACH_TIME):
            found = count_a_few(selection.entries(), name=repr(selection))
        self.is_cut = found > COUNTED_EACH_TIME
        self._count = min(found, COUNTED_EACH_TIME)
        self._entries = (
            selection.entries(among_many=True) if self.is_cut else sorted_apart(selection.entries())
        )

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> CatalogEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[CatalogEntry]: ...
    def __getitem__(self, place: int | slice) -> CatalogEntry | list[CatalogEntry]:
        if isinstance(place, int):
            return self._entries[place]
        ids = list(self._entries.values_list("pk", flat=True)[place])
        rows = CatalogEntry.objects.defer("body").in_bulk(ids)
        # One may have been withdrawn in between.
        return [rows[each] for each in ids if each in rows and rows[each].visible]
