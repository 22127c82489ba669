"""What the source tells the world, and that the contract's consumers would take it."""

import json
from datetime import UTC, datetime

import pytest

from materials import events
from messaging import registry
from messaging.envelope import decode
from messaging.errors import MalformedEvent


def test_both_types_of_the_contract_are_known() -> None:
    types = registry.event_types()

    assert types[events.PUBLISHED, 1] is events.MaterialPublished
    assert types[events.WITHDRAWN, 1] is events.MaterialWithdrawn
    assert (events.PUBLISHED, events.WITHDRAWN) == ("material.published", "material.withdrawn")


def test_a_publication_carries_the_whole_public_state() -> None:
    event = events.published(
        material_id="article-107",
        revision=7,
        title="Надёжная доставка",
        summary="s",
        body="# b",
        language="ru",
        tags=["a", "б"],
        actor="editor",
        occurred_at=datetime(2026, 1, 2, tzinfo=UTC),
    )

    assert json.loads(event.body) == {
        "eventId": event.event_id,
        "type": "material.published",
        "schemaVersion": 1,
        "occurredAt": "2026-01-02T00:00:00.000000Z",
        "materialId": "article-107",
        "revision": 7,
        "actor": "editor",
        "data": {
            "title": "Надёжная доставка",
            "summary": "s",
            "body": "# b",
            "language": "ru",
            "tags": ["a", "б"],
        },
    }
    assert decode(event.body, registry.event_types()) == event


def test_what_an_editor_left_open_is_left_out() -> None:
    event = events.published(material_id="a", revision=1, title="t", summary="", body="")

    document = json.loads(event.body)
    assert "actor" not in document
    assert document["data"] == {"title": "t", "summary": "", "body": ""}


@pytest.mark.parametrize(
    "tag",
    [
        "zh-cmn-Hans-CN-x-" + "-".join(["abcdefgh"] * 4),
        "en-" + "-".join(["abcdefgh"] * 2000),  # variants
        "en-" + "-".join(f"{letter}-12345678" for letter in "abcdefghijklmnopqrstuvwyz"),
        "x-" + "-".join(["a1"] * 20_000),
    ],
    ids=["private use", "variants", "extensions", "nothing but private use"],
)
def test_a_well_formed_language_tag_of_any_length_is_a_language(tag: str) -> None:
    event = events.published(
        material_id="a", revision=1, title="t", summary="", body="", language=tag
    )

    assert decode(event.body, registry.event_types()).data.language == tag


def test_a_long_language_tag_with_one_wrong_subtag_is_refused_at_once() -> None:
    tag = "en-" + "-".join(["abcdefgh"] * 20_000) + "-abcdefghi"

    with pytest.raises(MalformedEvent, match="language"):
        events.published(material_id="a", revision=1, title="t", summary="", body="", language=tag)


def test_a_withdrawal_carries_its_reason() -> None:
    event = events.withdrawn(material_id="article-107", revision=8, reason="", actor="editor")

    assert event.type == "material.withdrawn"
    assert event.data == events.MaterialWithdrawn("")
    assert json.loads(event.body)["data"] == {"reason": ""}


def test_two_publications_of_the_same_state_are_two_facts() -> None:
    def once_more() -> str:
        return events.withdrawn(material_id="a", revision=1, reason="x").event_id

    assert once_more() != once_more()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("material_id", "Not an id"),
        ("revision", 0),
        ("title", "  "),
        ("title", "t" * 201),
        ("summary", "s" * 501),
        ("body", "b" * 200_001),
        ("body", "я" * 131_072),  # within 200 000 characters, beyond 256 KiB
        ("language", "klingon_1"),
        ("tags", ["t"] * 21),
        ("tags", [""]),
        ("actor", "a" * 151),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_consumers_would_refuse_is_refused_at_the_source(field: str, value: object) -> None:
    fields = {"material_id": "a", "revision": 1, "title": "t", "summary": "", "body": ""}

    with pytest.raises(MalformedEvent):
        events.published(**(fields | {field: value}))  # type: ignore[arg-type]


def test_a_reason_of_a_withdrawal_has_its_limit() -> None:
    with pytest.raises(MalformedEvent, match="reason"):
        events.withdrawn(material_id="a", revision=1, reason="r" * 501)
