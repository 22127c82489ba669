"""The pages of a long list: numbered, and cut out of the index before any text is read."""

from collections.abc import Sequence
from typing import overload

from django.core.paginator import Page, Paginator

from materials.catalog.counting import count
from materials.catalog.models import CatalogEntry, CatalogQuerySet

PAGE_SIZE = 20


def page_of(entries: CatalogQuerySet, number: str, *, name: str) -> Page[CatalogEntry]:
    """That page, or the nearest one there is; `name` tells these entries from others."""
    return Paginator(_Rows(entries, name=name), PAGE_SIZE).get_page(number)


class _Rows(Sequence[CatalogEntry]):
    """What the paginator counts and slices: first the ids, then the rows that have them."""

    def __init__(self, entries: CatalogQuerySet, *, name: str) -> None:
        self._entries, self._name = entries, name

    def __len__(self) -> int:
        return count(self._entries, name=self._name)

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
