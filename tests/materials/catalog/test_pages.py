"""The readers' pages: what they show, what they withhold, and what odd addresses get."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.http import http_date

from materials.catalog import api, contents, counting, pages
from materials.catalog.models import CatalogEntry
from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 30, 12, 0, 0, 5, tzinfo=UTC)


def get(client: Client, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.get(path, query or {}, headers=headers)


def titles(client: Client, query: dict[str, Any] | None = None) -> list[str]:
    """The titles on the list page, from top to bottom."""
    response = get(client, "/", query)
    assert response.status_code == 200
    return [
        unescape(title)
        for title in re.findall(r"<h2[^>]*>\s*<a[^>]*>([^<]*)</a>", response.content.decode())
    ]


def test_a_material_written_from_the_right_has_its_line_of_dates_there_too(client: Client) -> None:
    project(published("he-1", title="תורים", summary="סיכום", language="he", tags=["x"]))

    for path, whole in (("/", '<li dir="auto">'), ("/materials/he-1/", '<article dir="auto">')):
        entry = get(client, path).content.decode().partition(whole)[2]
        title, _, rest = entry.partition("</h")
        # A direction of its own would not count for the whole.
        assert "dir=" not in title
        assert re.search(r'class="meta">\s*<time dir="auto"', rest)


def test_the_list_shows_what_is_published_newest_first(client: Client) -> None:
    project(
        published("a", title="Old", occurred_at=NOON - timedelta(days=1)),
        published("b", title="New", occurred_at=NOON),
        published("d", title="Same moment, by id", occurred_at=NOON),
        withdrawn("c"),
    )

    assert titles(client) == ["New", "Same moment, by id", "Old"]


def test_an_entry_of_the_list_has_summary_date_language_and_tags(client: Client) -> None:
    project(
        published("a", summary="In short.", language="ru", tags=["broker & co"], occurred_at=NOON)
    )

    page = get(client, "/").content.decode()

    assert 'href="/materials/a/"' in page
    assert re.search(r'<p[^>]* lang="ru"[^>]*>\s*In short\.', page)
    assert 'datetime="2026-11-30T12:00:00.000005Z"' in page
    assert "30 November 2026" in page
    assert "Русский" in page
    assert 'href="/?tag=broker%20%26%20co"' in page
    assert "broker &amp; co" in page


def test_an_empty_catalog_says_how_it_fills(client: Client) -> None:
    assert "Nothing has been published yet." in get(client, "/").content.decode()


def test_twenty_entries_make_a_page(client: Client) -> None:
    project_batch(
        [
            published(f"m{n:02}", title=f"{n}", occurred_at=NOON - timedelta(hours=n))
            for n in range(45)
        ]
    )

    pages = [titles(client, {"page": page}) for page in (1, 2, 3)]

    assert [len(page) for page in pages] == [20, 20, 5]
    assert [title for page in pages for title in page] == [str(n) for n in range(45)]
    middle = get(client, "/", {"page": 2, "lang": ""}).content.decode()
    assert "Page 2 of 3" in middle
    assert re.search(r'rel="prev" href="/\?[^"]*page=1', middle)
    assert re.search(r'rel="next" href="/\?[^"]*page=3', middle)


@pytest.mark.parametrize(
    ("page", "shown"),
    [("-1", "2"), ("0", "2"), ("99", "2"), ("x", "0"), ("", "0"), ("9" * 5000, "0")],
)
def test_an_odd_page_number_shows_the_nearest_page(client: Client, page: str, shown: str) -> None:
    project_batch(
        [
            published(f"m{n:02}", title=f"{n // 20}", occurred_at=NOON - timedelta(hours=n))
            for n in range(45)
        ]
    )

    assert titles(client, {"page": page})[0] == shown


@pytest.mark.parametrize(
    "words",
    [
        "forgive",
        "FORGIVE",
        "forg",
        "Body",
        "word",
        "queues that",
        "that queues",
        "summary",
        "body-word",
        "очередь",
        "ОЧЕРЕДЬ",
    ],
)
def test_search_finds_words_by_their_beginning_in_title_summary_or_text_in_any_case(
    client: Client, words: str
) -> None:
    project(
        published("a", title="Queues that Forgive", summary="Summary", body="Body-Word Очередь"),
        published("b", title="Another", summary="s", body="text"),
    )

    assert titles(client, {"q": words}) == ["Queues that Forgive"]


@pytest.mark.parametrize(
    "words", ["%", "_", "\\", ".*", "[a", "(", "'", '"', "forgive zzz", "x" * 5000]
)
def test_search_takes_every_sign_for_itself(client: Client, words: str) -> None:
    project(published("a", title="Queues that forgive"))

    assert titles(client, {"q": words}) == []
    assert titles(client, {"q": "  "}) == ["Queues that forgive"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("c++", ["C++ 10%_[done]", "Say c++!"]),
        ("[done]", ["C++ 10%_[done]"]),
        ("10%", ["C++ 10%_[done]"]),
        ("c", ["C++ 10%_[done]", "Say c++!", "c"]),
        ("ca", []),
        ("cat", ["cats.example.org/a<b>-7"]),
        ("at", []),
        ("ats", []),
        ("example", ["cats.example.org/a<b>-7"]),
        ("b", ["cats.example.org/a<b>-7"]),
        ("7", ["cats.example.org/a<b>-7"]),
        ("example.org/a", ["cats.example.org/a<b>-7"]),
        ("example-org", []),
        ("1e", []),
        ("1e5", ["x2 1e5 12ab"]),
        ("12a", ["x2 1e5 12ab"]),
    ],
)
def test_signs_part_words_and_count_where_they_are_asked_for(
    client: Client, words: str, found: list[str]
) -> None:
    every = ("C++ 10%_[done]", "Say c++!", "c", "cats.example.org/a<b>-7", "x2 1e5 12ab")
    project_batch(
        [published(f"m{n}", title=title, occurred_at=NOON) for n, title in enumerate(every)]
    )

    assert titles(client, {"q": words}) == found


def test_the_words_found_are_those_of_the_newest_revision(client: Client) -> None:
    project(published("a", title="Before", body="ﬁne Straße"), published("b", title="Before too"))

    assert titles(client, {"q": "fine STRASSE"}) == ["Before"]
    project(published("a", 2, title="After"), withdrawn("b", 2))
    assert titles(client, {"q": "before"}) == []
    assert titles(client, {"q": "after"}) == ["After"]
    CatalogEntry.objects.all().delete()
    project(published("c", title="After all"))
    assert titles(client, {"q": "after"}) == ["After all"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL changes tables in place")
def test_no_migration_has_lost_what_the_models_do_not_know() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'index')")
        there = {name for (name,) in cursor.fetchall()}

    assert there >= {
        *("catalog_entry_went", "catalog_shelves"),
        *("catalog_text_came", "catalog_text_changed", "catalog_text_went"),
        *("material_words_came", "material_words_changed", "material_words_went"),
    }


@pytest.mark.parametrize("query", [{}, {"q": "title"}, {"tag": "x"}, {"lang": "en"}])
def test_many_are_listed_in_the_very_order_of_few(
    client: Client, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project_batch(
        [
            published(
                f"m{n}",
                title=f"Title {n}",
                tags=["x"],
                language="en",
                occurred_at=NOON - timedelta(hours=n * 3 % 5),
            )
            for n in range(7)
        ]
    )
    few = titles(client, query), client.get("/api/materials/", query).json()["results"]
    for module in (counting, pages, api):
        monkeypatch.setattr(module, "COUNTED_EACH_TIME", 2)

    many = [title for page in "12" for title in titles(client, {**query, "page": page})]

    assert len(few[0]) == 7
    assert many[:2] == few[0][:2]
    assert client.get("/api/materials/", query).json()["results"] == few[1]


def test_the_pages_ask_a_constant_number_of_questions(client: Client) -> None:
    most = {
        **{
            f"/{query}": 4 for query in ("", "?q=title", "?q=c%2B%2B", "?tag=x", "?lang=en&q=title")
        },
        **{f"/api/materials/{query}": 2 for query in ("", "?q=title", "?tag=x", "?lang=en")},
        "/tags/": 2,
        "/languages/": 2,
        "/feed.atom": 2,
        "/materials/m1/": 1,
    }

    def asked() -> dict[str, int]:
        found = {}
        for address in most:
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                assert client.get(address).status_code == 200
            found[address] = len(queries)
        return found

    def publish(numbers: range) -> None:
        named = [published(f"m{n}", title="Title", tags=["x"], language="en") for n in numbers]
        project_batch(named)

    publish(range(3))
    of_few = asked()
    publish(range(3, 45))

    assert asked() == of_few
    assert {each: of_few[each] for each in most if of_few[each] > most[each]} == {}


def test_tags_and_languages_of_a_large_catalog_are_counted_once_a_minute(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(page: str) -> list[str]:
        return [shelf.value for shelf in client.get(page).context["contents"].shelves]

    seen = []
    for number, language in enumerate(("en", "ru", "de", "fr")):
        if number == 2:
            for module in (counting, contents):
                monkeypatch.setattr(module, "COUNTED_EACH_TIME", 1)
        project(published(f"m{number}", tags=[f"t{number}"], language=language))
        seen.append((sorted(shown("/tags/")), sorted(shown("/languages/"))))

    assert seen == [
        (["t0"], ["en"]),
        (["t0", "t1"], ["en", "ru"]),
        (["t0", "t1", "t2"], ["de", "en", "ru"]),
        (["t0", "t1", "t2"], ["de", "en", "ru"]),
    ]


def test_a_tag_is_matched_whole(client: Client) -> None:
    project(
        published("a", title="A", tags=["queue", "очереди"]),
        published("b", title="B", tags=["queues"]),
        published("c", title="C", tags=['que"ue', "x"]),
    )

    assert titles(client, {"tag": "queue"}) == ["A"]
    assert titles(client, {"tag": "очереди"}) == ["A"]
    assert titles(client, {"tag": 'que"ue'}) == ["C"]
    assert titles(client, {"tag": "Queue"}) == []


def test_a_language_finds_its_varieties_too(client: Client) -> None:
    project(
        published("a", title="A", language="en"),
        published("b", title="B", language="en-GB"),
        published("c", title="C", language="enm"),
        published("d", title="D"),
    )

    assert sorted(titles(client, {"lang": "EN"})) == ["A", "B"]
    assert titles(client, {"lang": "en-gb"}) == ["B"]
    assert titles(client, {"lang": "e_"}) == []


def test_filters_work_together_and_can_be_taken_away_one_by_one(client: Client) -> None:
    project(
        published("a", title="Queues", tags=["x"], language="en"),
        published("b", title="Queues too", tags=["y"], language="en"),
    )

    response = get(client, "/", {"q": "queues", "tag": "x", "lang": "en"})

    page = response.content.decode()
    assert titles(client, {"q": "queues", "tag": "x", "lang": "en"}) == ["Queues"]
    assert "1 material" in page
    assert 'href="/?tag=x&amp;lang=en"' in page
    assert 'href="/?q=queues&amp;lang=en"' in page
    assert 'href="/?q=queues&amp;tag=x"' in page


@pytest.mark.parametrize("name", ["q", "tag", "lang"])
@pytest.mark.parametrize(
    "value",
    [
        "\x00",
        "a\x00b",
        "\ud83d".encode("utf-8", "surrogatepass"),
        b"\xff",
        "\u202e",
        "\uff9e",
        "'; --",
    ],
)
def test_odd_filters_find_nothing_and_break_nothing(
    client: Client, name: str, value: str | bytes
) -> None:
    project(published("a"))

    response = get(client, "/", {name: value})

    assert response.status_code == 200
    assert "Nothing here matches." in response.content.decode()


def test_a_material_has_title_date_revision_language_tags_and_text(client: Client) -> None:
    project(
        published(
            "article-107",
            2**63 - 1,
            title="Queues & <i>friends</i>",
            summary="In short.",
            body="# Heading\n\nSome *words*.",
            language="en-GB",
            tags=["broker"],
            occurred_at=NOON,
        )
    )

    response = get(client, "/materials/article-107/")

    page = response.content.decode()
    assert response.status_code == 200
    assert page.count("<h1") == 1
    assert "Queues &amp; &lt;i&gt;friends&lt;/i&gt;</h1>" in page
    assert "<title>Queues &amp; &lt;i&gt;friends&lt;/i&gt;" in page
    assert 'datetime="2026-11-30T12:00:00.000005Z"' in page
    assert f"Revision {2**63 - 1}" in page
    assert re.search(r'class="prose"[^>]* lang="en-GB"', page)
    assert "<h2>Heading</h2>\n<p>Some <em>words</em>.</p>" in page
    assert 'href="/?tag=broker"' in page


@pytest.mark.parametrize("year", [1, 9999])
def test_every_year_can_be_shown(client: Client, year: int) -> None:
    project(published("a", occurred_at=datetime(year, 6, 1, tzinfo=UTC)))

    assert f"1 June {year:04}" in get(client, "/materials/a/").content.decode()
    assert f"1 June {year:04}" in get(client, "/").content.decode()


def test_a_withdrawn_material_has_a_page_of_its_own_that_tells_nothing(client: Client) -> None:
    project(
        published("a", title="Secret title", body="Secret text"),
        withdrawn("a", 2, reason="Secret reason", occurred_at=NOON),
    )

    response = get(client, "/materials/a/")

    page = response.content.decode()
    assert response.status_code == 410
    assert "This material was withdrawn" in page
    assert "30 November 2026" in page
    assert "Secret" not in page


@pytest.mark.parametrize(
    "path",
    [
        "/materials/article-108/",
        "/materials/Article-107/",
        "/materials/" + "a" * 65 + "/",
        "/materials/a%00b/",
        "/materials/%FF/",
        "/materials/%ED%A0%80/",
        "/materials/a%0A/",
        "/materials/%D1%8F/",
        "/materials/article-107%20/",
    ],
)
def test_what_is_no_material_is_not_found(client: Client, path: str) -> None:
    project(published("article-107"), published("a"))

    response = client.get(path)

    assert response.status_code == 404
    assert "There is no such material" in response.content.decode()


READABLE = ["/", "/materials/a/", "/tags/", "/languages/", "/feed.atom", "/sitemap.xml"]


@pytest.mark.parametrize("path", [*READABLE, "/robots.txt", "/favicon.ico", "/api/openapi.json"])
def test_pages_are_for_reading_alone(path: str) -> None:
    project(published("a"))
    client = Client(enforce_csrf_checks=True)

    assert client.head(path).status_code in (200, 302)
    assert client.head(path).content == b""
    for method in (client.post, client.put, client.patch, client.delete):
        response = method(path)
        assert response.status_code == 405
        assert set(response["Allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize("path", [*READABLE, "/api/materials/", "/api/materials/a/"])
def test_a_page_that_has_not_changed_is_not_sent_again(client: Client, path: str) -> None:
    project(published("a", title="First", tags=["x"], language="en"))
    tag = get(client, path)["ETag"]

    unchanged = get(client, path, **{"If-None-Match": tag})
    asked = client.head(path)
    asked_again = client.head(path, headers={"If-None-Match": tag})
    project(withdrawn("a", 2))
    changed = get(client, path, **{"If-None-Match": tag})

    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert (asked.status_code, asked["ETag"]) == (200, tag)
    assert (asked_again.status_code, asked_again["ETag"]) == (304, tag)
    assert changed.status_code in (200, 410)
    assert changed["ETag"] != tag
    assert "no-cache" in changed["Cache-Control"]


@pytest.mark.parametrize("path", ["/", "/materials/a/", "/materials/b/", "/tags/", "/languages/"])
def test_caches_are_told_to_ask_first_and_to_share_no_page_of_somebody_signed_in(
    client: Client, path: str
) -> None:
    project(published("a"))

    assert get(client, path)["Cache-Control"] == "no-cache"
    client.force_login(User.objects.create_user("ada"))
    assert get(client, path)["Cache-Control"] == "no-cache, private"


def test_signing_in_changes_the_page_and_so_its_tag(client: Client) -> None:
    project(published("a"))
    tag = get(client, "/materials/a/")["ETag"]
    client.force_login(User.objects.create_user("ada"))

    response = get(client, "/materials/a/", **{"If-None-Match": tag})

    assert response.status_code == 200
    assert "Last-Modified" not in response


def test_a_settled_entry_dates_its_page_by_the_moment_it_was_applied(client: Client) -> None:
    project(published("a", occurred_at=NOON))
    assert "Last-Modified" not in get(client, "/materials/a/")
    applied = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)
    CatalogEntry.objects.update(applied_at=applied)

    response = get(client, "/materials/a/")

    assert response["Last-Modified"] == http_date(int(applied.timestamp()))
    since = {"If-Modified-Since": response["Last-Modified"]}
    assert get(client, "/materials/a/", **since).status_code == 304


def test_the_pages_take_a_fixed_number_of_queries(
    client: Client, django_assert_num_queries: Any
) -> None:
    project_batch([published(f"m{n:02}", tags=["x", "y"], language="en") for n in range(30)])

    with django_assert_num_queries(3):
        get(client, "/", {"tag": "x", "lang": "en", "q": "title"})
    with django_assert_num_queries(1):
        get(client, "/materials/m01/")
