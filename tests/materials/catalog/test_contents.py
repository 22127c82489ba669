"""The pages of tags and languages."""

import re
from html import unescape

import pytest
from django.core.cache import cache
from django.test import Client

from materials.catalog import contents
from tests.materials.catalog.facts import project, published, withdrawn

pytestmark = pytest.mark.django_db


def shelves(client: Client, path: str) -> list[tuple[str, str, str]]:
    """Address, name and count of each."""
    page = client.get(path).content.decode()
    found = re.findall(
        r'<a href="([^"]*)"><bdi[^>]*>([^<]*)</bdi></a>\s*<span[^>]*>([^<]*)</span>', page
    )
    return [(unescape(a), unescape(b), c.strip()) for a, b, c in found]


def test_tags_are_counted_the_most_frequent_first(client: Client) -> None:
    project(
        published("a", tags=["x", "x", "b & c"]),
        published("b", tags=["x", "a"]),
        published("c", tags=["gone"]),
        withdrawn("c", 2),
    )

    assert shelves(client, "/tags/") == [
        ("/?tag=x", "x", "2 materials"),
        ("/?tag=a", "a", "1 material"),
        ("/?tag=b%20%26%20c", "b & c", "1 material"),
    ]


def test_a_language_is_counted_with_its_varieties(client: Client) -> None:
    project(
        published("a", language="en"),
        published("b", language="en-GB"),
        published("c", language="ru"),
        published("d"),
        published("e", language="tlh"),
        withdrawn("f"),
    )

    assert shelves(client, "/languages/")[0] == ("/?lang=en", "English", "2 materials")
    assert set(shelves(client, "/languages/")[1:]) == {
        ("/?lang=ru", "Русский", "1 material"),
        ("/?lang=tlh", "tlh", "1 material"),
    }


@pytest.mark.parametrize("path", ["/tags/", "/languages/"])
def test_an_empty_catalog_has_no_shelves(client: Client, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 200
    assert shelves(client, path) == []
    unchanged = client.get(path, headers={"If-None-Match": response["ETag"]})
    assert unchanged.status_code == 304


def test_the_limit_is_told_only_where_it_leaves_some_out(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(*(published(name, tags=["x"], language="en") for name in "abc"))
    monkeypatch.setattr(contents, "COUNTED_EACH_TIME", 1)

    for limit, told in ((3, False), (2, True)):
        cache.clear()
        monkeypatch.setattr(contents, "NEWEST_COUNTED", limit)
        for path in ("/tags/", "/languages/"):
            assert ("Counted among the newest" in client.get(path).content.decode()) is told
