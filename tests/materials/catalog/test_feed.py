"""The Atom feed: what RFC 4287 asks of it, and what it follows."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client

from materials.catalog.models import CatalogEntry
from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db

ATOM = "{http://www.w3.org/2005/Atom}"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def read(client: Client, query: str = "") -> ElementTree.Element:
    response = client.get(f"/feed.atom{query}")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/atom+xml; charset=utf-8"
    return ElementTree.fromstring(response.content)


def said(element: ElementTree.Element, *names: str) -> list[str | None]:
    return [element.findtext(f"{ATOM}{name}") for name in names]


def test_an_entry_has_what_a_feed_reader_needs(client: Client) -> None:
    project(
        published(
            "a", title="A & <b>", summary="Short.", language="ru", tags=["x"], occurred_at=NOON
        )
    )

    feed = read(client)

    [entry] = feed.findall(f"{ATOM}entry")
    assert said(entry, "title", "summary", "updated", "id") == [
        "A & <b>",
        "Short.",
        "2026-11-30T12:00:00Z",
        "http://testserver/materials/a/",
    ]
    assert entry.get(LANGUAGE) == "ru"
    assert [each.get("term") for each in entry.findall(f"{ATOM}category")] == ["x"]
    assert said(feed, "id", "updated", "author/{http://www.w3.org/2005/Atom}name") == [
        "http://testserver/feed.atom",
        "2026-11-30T12:00:00Z",
        "Catalogsite",
    ]
    assert {each.get("rel"): each.get("href") for each in feed.findall(f"{ATOM}link")} == {
        "self": "http://testserver/feed.atom",
        "alternate": "http://testserver/",
    }


def test_an_empty_feed_is_a_feed(client: Client) -> None:
    feed = read(client)

    assert None not in said(feed, "id", "title", "updated")
    assert feed.find(f"{ATOM}entry") is None


def test_the_thirty_newest_come_first_and_filters_hold(client: Client) -> None:
    project_batch(
        [
            published(f"m{n:02}", tags=["even"] if n % 2 == 0 else [], occurred_at=moment)
            for n in range(40)
            for moment in [NOON - timedelta(hours=n)]
        ]
    )

    everything, even = read(client), read(client, "?tag=even")

    assert len(everything.findall(f"{ATOM}entry")) == 30
    assert everything.findtext(f"{ATOM}entry/{ATOM}id") == "http://testserver/materials/m00/"
    assert len(even.findall(f"{ATOM}entry")) == 20
    assert even.findtext(f"{ATOM}id") == "http://testserver/feed.atom?tag=even"


def test_signs_that_xml_cannot_hold_do_not_break_it(client: Client) -> None:
    project(published("a", title="a\x01\ufffe\x0bb", summary="\x1f", tags=["\x02t"]))

    entry = read(client).find(f"{ATOM}entry")

    assert entry is not None
    assert said(entry, "title", "summary") == ["a\ufffd\ufffd\ufffdb", "\ufffd"]


def test_a_feed_that_has_not_changed_is_not_sent_again(client: Client) -> None:
    project(published("a"), published("b"))
    CatalogEntry.objects.update(applied_at=NOON - timedelta(days=1))
    first = client.get("/feed.atom")

    by_tag = client.get("/feed.atom", headers={"If-None-Match": first["ETag"]})
    project(withdrawn("b", 2))
    CatalogEntry.objects.filter(pk="b").update(applied_at=NOON)
    after = client.get("/feed.atom", headers={"If-None-Match": first["ETag"]})

    assert (by_tag.status_code, after.status_code) == (304, 200)


def test_pages_tell_feed_readers_where_it_is(client: Client) -> None:
    project(published("a", tags=["x"]))

    assert 'type="application/atom+xml"' in client.get("/materials/a/").content.decode()
    assert 'href="/feed.atom?tag=x"' in client.get("/?tag=x").content.decode()
