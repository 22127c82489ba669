"""The catalog as JSON, exactly as the contract has it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def read(client: Client, path: str, query: dict[str, Any] | None = None, status: int = 200) -> Any:
    response = client.get(path, query or {})
    assert response.status_code == status, response.content
    assert response["Content-Type"].startswith("application/json")
    return json.loads(response.content)


def walk(client: Client, url: str) -> list[dict[str, Any]]:
    """The pages of the list, by following `next`."""
    pages = [read(client, url)]
    while pages[-1]["next"]:
        pages.append(read(client, pages[-1]["next"]))
    return pages


def ids(page: dict[str, Any]) -> list[str]:
    return [result["materialId"] for result in page["results"]]


def hourly(count: int) -> None:
    """Publish m00, m01, …, each an hour older than the one before."""
    project_batch(
        [published(f"m{n:02}", occurred_at=NOON - timedelta(hours=n)) for n in range(count)]
    )


def test_a_material_has_exactly_the_fields_of_the_contract(client: Client) -> None:
    project(
        published(
            "article-107",
            2**63 - 1,
            title="Очереди <b>",
            summary="s",
            body="# Markdown, *as it is*",
            language="ru",
            tags=["a", "б"],
            occurred_at=NOON,
        )
    )

    material = read(client, "/api/materials/article-107/")

    assert material == {
        "materialId": "article-107",
        "revision": 9223372036854775807,
        "title": "Очереди <b>",
        "summary": "s",
        "body": "# Markdown, *as it is*",
        "language": "ru",
        "tags": ["a", "б"],
        "publishedAt": "2026-11-30T12:00:00.000000Z",
    }


def test_what_the_event_does_not_say_is_null_or_empty(client: Client) -> None:
    project(published("a"))

    material = read(client, "/api/materials/a/")

    assert (material["language"], material["tags"], material["summary"]) == (None, [], "")


def test_the_list_holds_the_same_objects_newest_first(client: Client) -> None:
    hourly(3)
    project(withdrawn("gone"), withdrawn("m01", 2))

    page = read(client, "/api/materials/")

    assert page == {
        "count": 2,
        "next": None,
        "results": [read(client, "/api/materials/m00/"), read(client, "/api/materials/m02/")],
    }


def test_an_empty_catalog_is_an_empty_list(client: Client) -> None:
    assert read(client, "/api/materials/") == {"count": 0, "next": None, "results": []}


def test_following_next_meets_every_material_once(client: Client) -> None:
    hourly(45)

    pages = walk(client, "/api/materials/")

    assert [len(page["results"]) for page in pages] == [20, 20, 5]
    assert [each for page in pages for each in ids(page)] == [f"m{n:02}" for n in range(45)]
    assert {page["count"] for page in pages} == {45}
    assert pages[0]["next"].startswith("http://testserver/api/materials/?page=2&")


def test_materials_of_one_moment_are_met_once_each(client: Client) -> None:
    project_batch([published(f"m{n:02}", occurred_at=NOON) for n in range(7)])

    pages = walk(client, "/api/materials/?page_size=2")

    assert [each for page in pages for each in ids(page)] == [f"m{n:02}" for n in range(7)]


def test_a_walk_neither_skips_nor_repeats_when_the_catalog_changes_on_the_way(
    client: Client,
) -> None:
    hourly(6)
    first = read(client, "/api/materials/", {"page_size": 2})
    project(
        published("fresh", occurred_at=NOON + timedelta(hours=1)),
        withdrawn("m00", 2),
        withdrawn("m01", 2),
    )

    rest = walk(client, first["next"])

    assert ids(first) == ["m00", "m01"]
    assert [each for page in rest for each in ids(page)] == ["m02", "m03", "m04", "m05"]


def test_a_page_is_also_reached_by_its_number(client: Client) -> None:
    hourly(5)

    page = read(client, "/api/materials/", {"page": 2, "page_size": 2})

    assert ids(page) == ["m02", "m03"]
    assert ids(read(client, page["next"])) == ["m04"]


def test_a_page_past_the_end_is_empty(client: Client) -> None:
    hourly(3)

    page = read(client, "/api/materials/", {"page": 999_999_999})

    assert page == {"count": 3, "next": None, "results": []}


def test_a_page_holds_at_most_fifty(client: Client) -> None:
    hourly(52)

    page = read(client, "/api/materials/", {"page_size": 1000})

    assert len(page["results"]) == 50
    assert ids(read(client, page["next"])) == ["m50", "m51"]


@pytest.mark.parametrize("name", ["page", "page_size"])
@pytest.mark.parametrize(
    "value",
    ["0", "-1", "", "x", "1.0", " 1", "+1", "1e3", "٣", "9" * 10, "9" * 5000, "\x00", b"\xff"],
)
def test_an_odd_number_is_refused_by_name(client: Client, name: str, value: Any) -> None:
    answer = read(client, "/api/materials/", {name: value}, status=400)

    assert answer["error"].startswith(f"{name} is not a whole number")


@pytest.mark.parametrize(
    "value", ["", "x", "1", "1,", ",a", "-1,a", "٣,a", "1" * 19 + ",a", "1,A", "\x00"]
)
def test_a_place_that_no_link_of_the_list_names_is_refused(client: Client, value: str) -> None:
    answer = read(client, "/api/materials/", {"after": value}, status=400)

    assert "after" in answer["error"]


@pytest.mark.parametrize(("place", "found"), [("0,a", []), ("9" * 18 + ",a", ["old", "new"])])
def test_any_other_place_is_somewhere_in_the_list(
    client: Client, place: str, found: list[str]
) -> None:
    project(
        published("new", occurred_at=datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC)),
        published("old", occurred_at=datetime.max.replace(tzinfo=UTC)),
    )

    assert ids(read(client, "/api/materials/", {"after": place})) == found


def test_the_filters_of_the_page_hold_here_too_and_are_kept_by_next(client: Client) -> None:
    project_batch(
        [
            published(
                f"m{n}",
                title=f"Queue {n}",
                tags=["a&b"] if n % 2 else [],
                language="en",
                occurred_at=NOON - timedelta(hours=n),
            )
            for n in range(6)
        ]
    )

    first = read(client, "/api/materials/?q=queue&tag=a%26b&lang=en&page_size=2")
    second = read(client, first["next"])

    assert (first["count"], ids(first), ids(second)) == (3, ["m1", "m3"], ["m5"])
    assert second["next"] is None


@pytest.mark.parametrize("name", ["q", "tag", "lang"])
@pytest.mark.parametrize("value", ["\x00", b"\xff\xfe", "%", "(", "x" * 10_000])
def test_odd_filters_find_nothing(client: Client, name: str, value: Any) -> None:
    hourly(1)

    assert read(client, "/api/materials/", {name: value})["results"] == []


def test_a_withdrawn_material_is_gone_and_tells_nothing(client: Client) -> None:
    project(published("a", title="Secret"), withdrawn("a", 2, reason="Secret"))

    answer = read(client, "/api/materials/a/", status=410)

    assert answer == {"error": "This material has been withdrawn."}


@pytest.mark.parametrize("name", ["b", "A", "a" * 65, "a%00", "%FF", "%ED%A0%80", "a%0A", "я"])
def test_an_unknown_material_is_not_found(client: Client, name: str) -> None:
    project(published("a"))

    answer = read(client, f"/api/materials/{name}/", status=404)

    assert answer == {"error": "There is no such material."}


@pytest.mark.parametrize("path", ["/api/materials/", "/api/materials/a/"])
def test_the_api_is_for_reading_alone(path: str) -> None:
    project(published("a"))
    client = Client(enforce_csrf_checks=True)

    assert client.head(path).status_code == 200
    for method in (client.post, client.put, client.patch, client.delete, client.options):
        response = method(path)
        assert response.status_code == 405
        assert set(response["Allow"].split(", ")) == {"GET", "HEAD"}


def test_the_tag_of_a_material_names_the_fact_it_comes_from(client: Client) -> None:
    fact = published("a")
    project(fact)

    response = client.get("/api/materials/a/")

    assert response["ETag"] == f'"{fact.event_id}"'


@pytest.mark.parametrize("path", ["/api/materials/", "/api/materials/a/"])
def test_an_answer_that_has_not_changed_is_not_sent_again(client: Client, path: str) -> None:
    project(published("a"))
    tag = client.get(path)["ETag"]

    unchanged = client.get(path, headers={"If-None-Match": f'"other", {tag}'})
    project(published("a", 2))
    changed = client.get(path, headers={"If-None-Match": tag})

    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", tag)
    assert changed.status_code == 200


def test_the_tag_of_a_material_that_was_withdrawn_gives_gone(client: Client) -> None:
    project(published("a"))
    tag = client.get("/api/materials/a/")["ETag"]
    project(withdrawn("a", 2))

    response = client.get("/api/materials/a/", headers={"If-None-Match": tag})

    assert response.status_code == 410


def test_the_list_takes_two_queries(client: Client, django_assert_num_queries: Any) -> None:
    hourly(30)

    with django_assert_num_queries(2):
        client.get("/api/materials/", {"page_size": 5})
