"""The catalog as JSON, for programs: the same entries as the pages, from the projection alone.

The list takes the filters of the page (`q`, `tag`, `lang`), `page_size` (20; from 1, and 50 is
the most) and `page`. Follow `next` to walk it: its link holds the place (`after`), so that no
entry is skipped or repeated when others are published or withdrawn meanwhile; `page` without
`after` jumps by position. A page past the end is empty. Other values are answered 400.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict

from materials.catalog.counting import COUNTED_EACH_TIME, count, sorted_apart
from materials.catalog.freshness import ask_before_reuse, date_by_entry
from materials.catalog.models import CatalogEntry, CatalogQuerySet
from materials.catalog.pages import PAGE_SIZE
from materials.catalog.reading import for_reading
from materials.catalog.selection import Selection
from messaging.event.fields import MATERIAL_ID

LARGEST_PAGE_SIZE = 50


@for_reading
def list_materials(request: HttpRequest) -> HttpResponse:
    """`{"count", "next", "results"}`: what is published, newest first."""
    try:
        place = _Place.from_query(request.GET)
    except ValueError as error:
        return _error(str(error), status=400)
    selection = Selection.from_query(request.GET)
    entries = selection.entries()
    total = count(entries, name=repr(selection))
    found = place.page_of(sorted_apart(entries) if total <= COUNTED_EACH_TIME else entries)
    following = None
    if len(found) > place.size:
        found.pop()
        query = selection.query_string(**place.following(found[-1]))
        following = request.build_absolute_uri(request.path + query)
    results = [_as_json(entry) for entry in found]
    return _json({"count": total, "next": following, "results": results})


@for_reading
def show_material(request: HttpRequest, material_id: str) -> HttpResponse:
    """One published material; 404 where there is none, 410 where it was withdrawn."""
    entry = CatalogEntry.objects.find(material_id)
    if entry is None:
        return _error("There is no such material.", status=404)
    if not entry.visible:
        return _error("This material has been withdrawn.", status=410)
    response = _json(_as_json(entry))
    # The fact that the entry comes from decides all of it.
    response["ETag"] = f'"{entry.event_id}"'
    date_by_entry(response, entry)
    return response


@dataclass(frozen=True)
class _Place:
    """Where in the list a page begins: after an entry, or else by its number alone."""

    number: int
    size: int
    size_asked: int | None
    after: tuple[datetime, str] | None

    @classmethod
    def from_query(cls, query: QueryDict) -> "_Place":
        number = _positive(query, "page") or 1
        asked = _positive(query, "page_size")
        after = _read_cursor(query.get("after"))
        return cls(number, min(asked or PAGE_SIZE, LARGEST_PAGE_SIZE), asked, after)

    def page_of(self, entries: CatalogQuerySet) -> list[CatalogEntry]:
        """The entries of this page, and one more where there is one."""
        if self.after is None:
            start = (self.number - 1) * self.size
        else:
            moment, material_id = self.after
            start = 0
            entries = entries.filter(published_at__lte=moment).filter(
                Q(published_at__lt=moment) | Q(material_id__gt=material_id)
            )
        return list(entries[start : start + self.size + 1])

    def following(self, last: CatalogEntry) -> dict[str, Any]:
        """The query of the page after the one that ends with `last`."""
        return {
            "page": self.number + 1,
            "page_size": self.size_asked,
            "after": _cursor(last),
        }


def _positive(query: QueryDict, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise ValueError(f"{name} is not a whole number from 1 to 999999999.")
    return int(text)


def _read_cursor(text: str | None) -> tuple[datetime, str] | None:
    if text is None:
        return None
    match = re.fullmatch(rf"([0-9]{{1,18}}),({MATERIAL_ID})", text, re.ASCII)
    if match is None:
        raise ValueError("after is not from a link of this list.")
    return _FIRST + timedelta(microseconds=min(int(match[1]), _MOMENTS)), match[2]


def _cursor(entry: CatalogEntry) -> str:
    assert entry.published_at is not None
    return f"{(entry.published_at - _FIRST) // timedelta(microseconds=1)},{entry.material_id}"


# The moments of a cursor: all that a date can be, counted in microseconds.
_FIRST = datetime.min.replace(tzinfo=UTC)
_MOMENTS = (datetime.max - datetime.min) // timedelta(microseconds=1)


def _as_json(entry: CatalogEntry) -> dict[str, Any]:
    return {
        "materialId": entry.material_id,
        "revision": entry.revision,
        "title": entry.title,
        "summary": entry.summary,
        "body": entry.body,
        "language": entry.language or None,
        "tags": entry.tags,
        "publishedAt": _moment(entry),
    }


def _moment(entry: CatalogEntry) -> str:
    assert entry.published_at is not None
    moment = entry.published_at.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"


def _json(content: dict[str, Any]) -> JsonResponse:
    response = JsonResponse(content, json_dumps_params={"ensure_ascii": False})
    ask_before_reuse(response)
    return response


def _error(sentence: str, *, status: int) -> JsonResponse:
    response = JsonResponse({"error": sentence}, status=status)
    ask_before_reuse(response)
    return response
