"""The API described in its own terms (OpenAPI 3.1), for whoever writes a client.

Kept by hand: a test holds every answer of the API against it.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import cache_control

from materials.catalog.pages import PAGE_SIZE
from materials.catalog.reading import for_reading
from messaging.event.fields import MATERIAL_ID


@for_reading
@cache_control(max_age=3600)
def show_document(request: HttpRequest) -> HttpResponse:
    """The document, with this server's own address in it."""
    server = {"url": request.build_absolute_uri("/").rstrip("/")}
    return JsonResponse(DOCUMENT | {"servers": [server]})


def _answer(words: str, schema: str, *, tagged: bool = False) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": words,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }
    if tagged:
        answer["headers"] = {"ETag": {"schema": {"type": "string"}}}
    return answer


def _ask(name: str, words: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": words, "schema": schema}


_MATERIAL_ID = {"type": "string", "pattern": f"^{MATERIAL_ID}$"}
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
_UNCHANGED = {"description": "What the `If-None-Match` of the request names still holds."}

_CONDITION = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of an earlier answer.",
    "schema": {"type": "string"},
}

_LIST = {
    "operationId": "listMaterials",
    "summary": "What is published, newest first",
    "description": "Follow `next` to meet every material once, also while others are published.",
    "parameters": [
        _ask(
            "q",
            "Words that each begin a word of title, summary or text, in any case; what a sign joins"
            " to a next one (`article-107`) is a whole word. The first eight words and 200"
            " characters count.",
            type="string",
        ),
        _ask("tag", "A tag, exactly as written.", type="string"),
        _ask("lang", "A language (BCP 47); `en` finds `en-GB` too.", type="string"),
        _ask("page", "The number of the page, from 1.", **_NUMBER, default=1),
        _ask(
            "page_size",
            "Materials a page; more than 50 are taken for 50.",
            **_NUMBER,
            default=PAGE_SIZE,
        ),
        _ask(
            "after",
            "A place in the list, from the link `next`.",
            type="string",
            pattern=f"^[0-9]{{1,18}},{MATERIAL_ID}$",
        ),
        _CONDITION,
    ],
    "responses": {
        "200": _answer("A page of materials; past the end an empty one.", "Page", tagged=True),
        "304": _UNCHANGED,
        "400": _answer("A parameter that cannot be read; the error names it.", "Error"),
    },
}

_SHOW = {
    "operationId": "showMaterial",
    "summary": "One published material",
    "parameters": [
        {"name": "materialId", "in": "path", "required": True, "schema": _MATERIAL_ID},
        _CONDITION,
    ],
    "responses": {
        "200": _answer("The material as it was last published.", "Material", tagged=True),
        "304": _UNCHANGED,
        "404": _answer("Nothing was ever published under this id.", "Error"),
        "410": _answer("It was published and has been withdrawn.", "Error"),
    },
}

_SCHEMAS = {
    "Material": {
        "type": "object",
        "additionalProperties": False,
        "required": [
            *("materialId", "revision", "title", "summary"),
            *("body", "language", "tags", "publishedAt"),
        ],
        "properties": {
            "materialId": _MATERIAL_ID,
            "revision": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "summary": {"type": "string", "maxLength": 500},
            "body": {"type": "string", "maxLength": 200_000, "description": "Markdown."},
            "language": {"type": ["string", "null"], "description": "BCP 47."},
            "tags": {
                "type": "array",
                "maxItems": 20,
                "items": {"type": "string", "minLength": 1, "maxLength": 50},
            },
            "publishedAt": {"type": "string", "format": "date-time"},
        },
    },
    "Page": {
        "type": "object",
        "additionalProperties": False,
        "required": ["count", "next", "results"],
        "properties": {
            "count": {
                "type": "integer",
                "minimum": 0,
                "description": "All that pass the filters. Beyond 4 000 it may be as old as a"
                " minute, or older where counting takes long.",
            },
            "next": {"type": ["string", "null"], "format": "uri"},
            "results": {
                "type": "array",
                "maxItems": 50,
                "items": {"$ref": "#/components/schemas/Material"},
            },
        },
    },
    "Error": {
        "type": "object",
        "additionalProperties": False,
        "required": ["error"],
        "properties": {"error": {"type": "string"}},
    },
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Catalogsite",
        "version": "1",
        "summary": "The published materials, to read.",
    },
    "paths": {
        "/api/materials/": {"get": _LIST},
        "/api/materials/{materialId}/": {"get": _SHOW},
    },
    "components": {"schemas": _SCHEMAS},
}
