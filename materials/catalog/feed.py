"""The newest materials as an Atom feed (RFC 4287), for feed readers."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language, gettext

from materials.catalog.freshness import ask_before_reuse
from materials.catalog.models import CatalogEntry
from materials.catalog.reading import for_reading
from materials.catalog.selection import Selection

ENTRIES = 30
_ATOM = "http://www.w3.org/2005/Atom"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@for_reading
def show_feed(request: HttpRequest) -> HttpResponse:
    """The 30 newest that pass the filters of the page, each with its summary."""
    selection = Selection.from_query(request.GET)
    entries = list(selection.entries().defer("body")[:ENTRIES])
    feed = Element("feed", {"xmlns": _ATOM, "xml:lang": get_language() or "en"})
    page = request.build_absolute_uri("/" + selection.query_string())
    own = request.build_absolute_uri(request.path + selection.query_string())
    _say(feed, "title", gettext("Catalogsite") + _chosen(selection))
    _say(feed, "id", own)
    _link(feed, "self", own, kind="application/atom+xml")
    _link(feed, "alternate", page, kind="text/html")
    _say(feed, "updated", _moment(max((_dated(entry) for entry in entries), default=_NEVER)))
    _say(SubElement(feed, "author"), "name", gettext("Catalogsite"))
    for entry in entries:
        _add_entry(feed, entry, address=request.build_absolute_uri(entry.get_absolute_url()))
    document = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    response = HttpResponse(document, content_type="application/atom+xml; charset=utf-8")
    ask_before_reuse(response)
    return response


def _add_entry(feed: Element, entry: CatalogEntry, *, address: str) -> None:
    element = SubElement(feed, "entry", {"xml:lang": entry.language} if entry.language else {})
    _say(element, "title", entry.title)
    _say(element, "id", address)
    _link(element, "alternate", address, kind="text/html")
    _say(element, "updated", _moment(_dated(entry)))
    _say(element, "summary", entry.summary)
    for tag in entry.tags:
        SubElement(element, "category", {"term": _clean(tag)})


def _chosen(selection: Selection) -> str:
    values = (selection.q, selection.tag, selection.lang)
    return "".join(f" · {value}" for value in values if value)


def _link(parent: Element, relation: str, address: str, *, kind: str) -> None:
    SubElement(parent, "link", {"rel": relation, "type": kind, "href": address})


def _say(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    """Without what XML cannot hold in any spelling, and an event can."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _dated(entry: CatalogEntry) -> datetime:
    assert entry.published_at is not None
    return entry.published_at


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
