"""The API's description is true: every answer fits it, and it names every path and parameter."""

from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from jsonschema import Draft202012Validator

from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    response = client.get("/api/openapi.json")
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def check(document: dict[str, Any], path: str, response: Any) -> None:
    """The answer's status, type and content are those that the document names."""
    answer = document["paths"][path]["get"]["responses"][str(response.status_code)]
    [(kind, content)] = answer["content"].items()
    assert response["Content-Type"].split(";")[0] == kind
    schema = {**content["schema"], "components": document["components"]}
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(
        response.json()
    )
    for header in answer.get("headers", {}):
        assert response[header]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?page=2&page_size=3",
        "?page=999999999",
        "?q=title&tag=x&lang=en",
        "?page=0",
        "?page_size=x",
        "?after=x",
    ],
)
def test_every_answer_of_the_list_fits(
    client: Client, document: dict[str, Any], query: str
) -> None:
    project_batch(
        [published(f"m{n:02}", language="en" if n else None, tags=["x"]) for n in range(25)]
    )

    check(document, "/api/materials/", client.get(f"/api/materials/{query}"))


@pytest.mark.parametrize(("name", "status"), [("a", 200), ("b", 410), ("c", 404), ("%00", 404)])
def test_every_answer_of_a_material_fits(
    client: Client, document: dict[str, Any], name: str, status: int
) -> None:
    project(published("a", 2**63 - 1), withdrawn("b"))

    response = client.get(f"/api/materials/{name}/")

    assert response.status_code == status
    check(document, "/api/materials/{materialId}/", response)


def test_the_link_to_the_next_page_fits_the_description_of_its_parameters(
    client: Client, document: dict[str, Any]
) -> None:
    project_batch([published(f"m{n}", occurred_at=timezone.now()) for n in range(3)])
    following = client.get("/api/materials/?page_size=2").json()["next"]
    place = client.get(following).wsgi_request.GET["after"]

    parameters = document["paths"]["/api/materials/"]["get"]["parameters"]
    [schema] = [each["schema"] for each in parameters if each["name"] == "after"]

    Draft202012Validator(schema).validate(place)


def test_every_path_of_the_api_is_described(document: dict[str, Any]) -> None:
    patterns = [p for r in get_resolver().url_patterns for p in getattr(r, "url_patterns", [])]
    paths = {
        "/" + str(pattern.pattern).replace("<str:material_id>", "{materialId}")
        for pattern in patterns
        if str(pattern.pattern).startswith("api/")
    }

    assert paths == {*document["paths"], "/api/openapi.json"}


def test_the_document_names_the_server_it_comes_from(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": "http://testserver"}]
