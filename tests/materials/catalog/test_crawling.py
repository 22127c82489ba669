"""What crawlers and link previews are told."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.test import Client

from materials.catalog import counting, crawling, pages
from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db


NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def read(client: Client, path: str) -> ElementTree.Element:
    response = client.get(path)
    assert response.status_code == 200
    return ElementTree.fromstring(response.content)


def addresses(element: ElementTree.Element) -> list[str | None]:
    return [each.text for each in element.iter(f"{SITEMAP}loc")]


def test_the_sitemap_holds_what_is_published_and_since_when(client: Client) -> None:
    project(published("b", occurred_at=NOON), published("a", occurred_at=NOON), withdrawn("c"))

    sitemap = read(client, "/sitemap.xml")

    assert sitemap.tag == f"{SITEMAP}urlset"
    assert sorted(map(str, addresses(sitemap))) == [
        f"http://testserver/materials/{name}/" for name in "ab"
    ]
    assert sitemap.findtext(f"{SITEMAP}url/{SITEMAP}lastmod") == "2026-11-30T12:00:00Z"


def test_a_large_sitemap_is_an_index_of_parts(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "ADDRESSES_A_FILE", 2)
    project_batch([published(f"m{n}", occurred_at=NOON) for n in range(5)])

    index = read(client, "/sitemap.xml")
    parts = [read(client, str(address)) for address in addresses(index)]

    assert index.tag == f"{SITEMAP}sitemapindex"
    assert addresses(index)[0] == "http://testserver/sitemap-1.xml"
    assert [address for part in parts for address in addresses(part)] == [
        f"http://testserver/materials/m{n}/" for n in range(5)
    ]
    for number in (0, 4, 10**30):
        assert client.get(f"/sitemap-{number}.xml").status_code == 404


def test_robots_find_the_sitemap_and_stay_out_of_the_editors_rooms(client: Client) -> None:
    robots = client.get("/robots.txt").content.decode()

    assert "Sitemap: http://testserver/sitemap.xml" in robots
    assert "Disallow: /editor/" in robots


def test_the_icon_is_where_browsers_look_for_it(client: Client) -> None:
    response = client.get("/favicon.ico")

    assert response.status_code == 302
    assert re.fullmatch(r"/static/icon(\.[0-9a-f]+)?\.svg", response["Location"])


@pytest.mark.parametrize(
    ("asked", "canonical"),
    [
        ("/", "/"),
        ("/?page=1&x=y", "/"),
        ("/?x=y&page=2", "/?page=2"),
        ("/?lang=en&tag=t", "/?tag=t&amp;lang=en"),
        ("/materials/m00/?utm=1", "/materials/m00/"),
    ],
)
def test_a_page_names_its_one_address(client: Client, asked: str, canonical: str) -> None:
    project_batch([published(f"m{n:02}", tags=["t"], language="en") for n in range(21)])

    page = client.get(asked).content.decode()

    assert f'<link rel="canonical" href="http://testserver{canonical}">' in page
    assert f'<meta property="og:url" content="http://testserver{canonical}">' in page


def test_a_material_tells_link_previews_what_it_is(client: Client) -> None:
    project(published("a", title='"T"', summary="S", tags=["x"], occurred_at=NOON))

    page = client.get("/materials/a/").content.decode()

    assert '<meta property="og:type" content="article">' in page
    assert '<meta property="og:title" content="&quot;T&quot;">' in page
    assert '<meta property="og:description" content="S">' in page
    assert 'property="article:published_time" content="2026-11-30T12:00:00Z"' in page


def test_found_searches_are_not_for_indexes(client: Client) -> None:
    assert 'name="robots" content="noindex"' in client.get("/?q=x").content.decode()
    assert "noindex" not in client.get("/").content.decode()


def test_few_entries_are_counted_each_time_and_many_once_a_minute(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "COUNTED_EACH_TIME", 2)
    counts = []
    for name in ("a", "b", "c", "d"):
        project(published(name))
        counts.append(client.get("/api/materials/?lang=&q=title").json()["count"])

    assert counts == [1, 2, 3, 3]


def test_a_list_of_very_many_is_cut_and_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (counting, pages):
        monkeypatch.setattr(module, "COUNTED_EACH_TIME", 40)
    project_batch([published(f"m{n:02}", tags=["cut"]) for n in range(45)])

    page = client.get("/?tag=cut&page=9").content.decode()

    assert "The newest 40 of many more" in page
    assert "Page 2 of 2" in page
    assert "This list ends here" in page
