"""The longest texts that an event can hold reach the catalog, whatever words they are made of.

PostgreSQL's vector of words ends at 1 MiB, and a text that could pass it would be dead for ever.
"""

import itertools

import pytest
from django.test import Client

from tests.materials.catalog.facts import entry, project, published

LIMIT = 200_000
# Letters of four bytes each: the ideographs beyond the first plane.
IDEOGRAPHS = [chr(point) for point in range(0x20000, 0x2A6D0)]


def words_of(length: int, letters: list[str] = IDEOGRAPHS) -> str:
    """As many different words of that length as a text can hold."""
    if length == 1:
        every = iter(letters)
    else:
        every = map("".join, itertools.product(letters[:400], repeat=length))
    return " ".join(itertools.islice(every, LIMIT // (length + 1)))[:LIMIT]


TEXTS = {
    "one letter": words_of(1),
    "two letters": words_of(2),
    "three letters": words_of(3),
    "one word": "𠀀" * LIMIT,
    "words as long as are indexed": " ".join(
        "".join(pair) + "𠀀" * 500 for pair in itertools.product(IDEOGRAPHS[:20], repeat=2)
    )[:LIMIT],
    "compounds": words_of(2).replace(" ", "-"),
    "addresses": words_of(2, [chr(n) for n in range(97, 123)] * 16).replace(" ", "."),
    "numbers": "-".join(str(n) for n in range(30_000)),
    "ascii pairs": words_of(3, [chr(n) for n in range(97, 123)]),
    "letters that grow when made small": "İ" * LIMIT,
    "short ones that grow": "İ " * (LIMIT // 2),
}


@pytest.mark.django_db
@pytest.mark.parametrize("kind", TEXTS)
def test_it_is_applied_and_found(client: Client, kind: str) -> None:
    # The whole event has to stay within 256 KiB.
    body = TEXTS[kind].encode()[:260_000].decode(errors="ignore")

    project(published("a", title="Long", body=body))

    assert entry("a").body == body
    assert client.get("/api/materials/?q=long").json()["count"] == 1


@pytest.mark.django_db
def test_a_language_tag_of_any_length_is_kept_and_shown(client: Client) -> None:
    tag = "en-x-" + "-".join(["abcdefgh"] * 20_000)

    project(published("a", language=tag))

    assert client.get("/api/materials/a/").json()["language"] == tag
    assert client.get("/materials/a/").status_code == 200
    assert client.get("/").status_code == 200
    assert client.get("/languages/").status_code == 200
    assert client.get("/api/materials/?lang=en").json()["count"] == 1
