"""Whatever is asked of the readers' pages, the answer is never a failure of the server."""

from urllib.parse import quote

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.materials.catalog.facts import project, published, withdrawn

pytestmark = pytest.mark.django_db

PATHS = (
    "/",
    "/tags/",
    "/languages/",
    "/feed.atom",
    "/sitemap.xml",
    "/api/materials/",
    "/api/openapi.json",
    "/robots.txt",
    "/favicon.ico",
)
ODD = (
    "",
    "\x00",
    "a\x00b",
    "-1",
    "0",
    "1.5",
    "1e5",
    "9" * 40,
    "%",
    "\\",
    "'",
    "''",
    "a'b",
    "a & b | !c",
    "a:*",
    "<->",
    "(",
    "[",
    "\u202e",
    "\ufffe",
    "İ",
    "ß²½",
    "क्षि",
    "😀",
    "x" * 5000,
    " ".join("abcdefghijklmn"),
    "a-" * 100,
)

# Bytes that are no UTF-8 as well: a lone surrogate is written as a browser would not.
texts = st.one_of(st.sampled_from(ODD), st.text(max_size=30)).map(
    lambda text: quote(text.encode("utf-8", "surrogatepass"))
) | st.binary(max_size=8).map(quote)

queries = st.lists(
    st.tuples(st.sampled_from(("q", "tag", "lang", "page", "page_size", "after", "x")), texts),
    max_size=5,
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))

quick = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture
def reader(client: Client) -> Client:
    """A reader of a catalog that holds a little of everything."""
    project(
        published("a", title="It's <b>İ ß² 1e5", tags=["'", "%"], language="en-GB"),
        published("b", body="a-b a:b 😀"),
        withdrawn("c"),
    )
    return client


@quick
@given(path=st.sampled_from(PATHS), query=queries)
def test_any_query_has_an_answer(reader: Client, path: str, query: str) -> None:
    response = reader.get(f"{path}?{query}")

    assert response.status_code in (200, 302, 400)
    assert path.startswith("/api/") or response.status_code != 400


@quick
@given(name=texts, prefix=st.sampled_from(("/materials/", "/api/materials/", "/sitemap-", "/")))
def test_any_path_has_an_answer(reader: Client, name: str, prefix: str) -> None:
    response = reader.get(f"{prefix}{name}{'.xml' if prefix == '/sitemap-' else '/'}")

    assert response.status_code in (200, 301, 302, 404, 410)


@pytest.mark.parametrize("path", ["/", "/materials/a/", "/feed.atom", "/api/materials/"])
@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": "x"},
        {"If-None-Match": '"' * 50},
        {"If-Modified-Since": "yesterday"},
        {"If-Modified-Since": "Thu, 01 Jan 0001 00:00:00 GMT"},
        {"If-Modified-Since": "Fri, 31 Dec 9999 23:59:59 GMT"},
        {"Accept-Language": "x" * 1000},
        {"Accept-Language": "ru;q=9,*;q=,,;"},
        {"Cookie": "theme=\xff; django_language=../../etc; sessionid=%00"},
        {"Range": "bytes=0-1"},
    ],
    ids=str,
)
def test_odd_headers_change_nothing_much(
    reader: Client, path: str, headers: dict[str, str]
) -> None:
    assert reader.get(path, headers=headers).status_code in (200, 304)


def test_a_query_of_more_fields_than_a_form_may_have_is_refused(reader: Client) -> None:
    response = reader.get("/?" + "&".join(f"x{n}=1" for n in range(1500)))

    assert response.status_code == 400
