"""Drafts: what they take, what they refuse by the contract's limits, and whose change stands."""

import pytest
from msgspec.json import schema

from materials import actions, content
from materials.content import Content
from materials.events import MaterialPublished
from materials.models import Material
from materials.refusals import DraftChanged, InvalidMaterial, UnknownMaterial
from materials.searching import matching
from messaging.envelope import MAX_BODY_BYTES
from messaging.models import OutboxMessage
from tests.materials.makers import draft, facts, published

pytestmark = pytest.mark.django_db

WIDEST = {
    "title": "я" * 200,
    "summary": "😀" * 500,
    "body": "x" * 200_000,
    "language": "de-CH-1996",
    "tags": [f"{number:02}" + "ы" * 48 for number in range(20)],
}

REFUSED = [
    ("title", ""),
    ("title", " \n\t "),
    ("title", "\u00a0\u2003"),
    ("title", "x" * 201),
    ("title", "x" * 300),
    ("title", "a\x00b"),
    ("title", "\ud83d"),
    ("summary", "x" * 501),
    ("summary", "\x00"),
    ("summary", "\udcff"),
    ("body", "x" * 200_001),
    ("body", "x\x00"),
    ("body", "\ud83d\ud83d"),
    ("body", "я" * 140_000),  # fits by characters, not as an event of 256 KiB
    ("body", '"' * 140_000),
    ("language", "english please"),
    ("language", "e"),
    ("language", "en_US"),
    ("language", "en-US-x-" + "abcdefgh-" * 8 + "i"),
    ("language", "e\x00n"),
    ("tags", [str(number) for number in range(21)]),
    ("tags", ["x" * 51]),
    ("tags", ["a\x00"]),
    ("tags", ["\ud800"]),
]


def test_a_new_material_is_a_draft_that_readers_do_not_hear_of() -> None:
    material = draft(title="Queues that forgive", actor="ada")

    assert (material.state, material.revision, material.version) == ("draft", 0, 1)
    assert (material.created_by, material.updated_by) == ("ada", "ada")
    assert facts() == []


def test_everything_may_be_as_long_as_the_contract_allows() -> None:
    material = published(**WIDEST)

    assert material.content == Content(**{**WIDEST, "tags": tuple(WIDEST["tags"])})
    assert len(OutboxMessage.objects.get().body) <= MAX_BODY_BYTES


def test_one_character_more_is_refused_in_every_field() -> None:
    longer = {field: value * 2 for field, value in WIDEST.items()}
    longer["tags"] = [tag + "!" for tag in WIDEST["tags"]]

    with pytest.raises(InvalidMaterial) as refusal:
        draft(**longer)

    assert set(refusal.value.errors) == set(WIDEST)


@pytest.mark.parametrize(("field", "value"), REFUSED)
def test_what_no_event_can_hold_is_refused_at_the_field(field: str, value: object) -> None:
    draft("article-1")
    before = Material.objects.values().get()

    with pytest.raises(InvalidMaterial) as refused_new:
        draft("article-2", **{field: value})
    with pytest.raises(InvalidMaterial) as refused_edit:
        actions.edit("article-1", **{"title": "Fine", "actor": "ada", field: value})

    assert set(refused_new.value.errors) == set(refused_edit.value.errors) == {field}
    assert Material.objects.values().get() == before
    str(refused_new.value).encode("utf-8")


@pytest.mark.parametrize(
    "material_id", ["", "A", "-a", ".a", "a b", "a/b", "я", "a\n", "a\x00", "a" * 65, "\ud800"]
)
def test_an_id_that_the_contract_does_not_take_is_refused(material_id: str) -> None:
    with pytest.raises(InvalidMaterial) as refusal:
        draft(material_id)

    assert set(refusal.value.errors) == {"material_id"}
    assert not Material.objects.exists()


@pytest.mark.parametrize("material_id", ["a", "0", "a" * 64, "a.b_c-d", "article-107"])
def test_an_id_of_the_contract_is_taken(material_id: str) -> None:
    assert published(material_id).material_id == material_id


def test_a_taken_id_is_refused_at_the_field() -> None:
    draft("article-1", title="First")

    with pytest.raises(InvalidMaterial) as refusal:
        draft("article-1", title="Second")

    assert refusal.value.errors == {"material_id": ["There is a material “article-1” already."]}
    assert Material.objects.get().title == "First"


def test_editing_leaves_what_is_published_alone() -> None:
    published(title="As published")

    material = actions.edit("article-107", title="As drafted", actor="grace")

    assert (material.version, material.differs, material.updated_by) == (2, True, "grace")
    assert material.revisions.get().title == "As published"
    assert len(facts()) == 1


def test_saving_the_same_content_changes_nothing() -> None:
    draft(title="Same", body="Same")
    before = Material.objects.values().get()

    actions.edit("article-107", title=" Same ", body="Same", actor="grace", version=99)

    assert Material.objects.values().get() == before


def test_a_second_saver_does_not_overwrite_the_first() -> None:
    seen = draft(title="As both saw it")
    actions.edit("article-107", title="Grace's", actor="grace", version=seen.version)

    with pytest.raises(DraftChanged, match="grace saved another draft"):
        actions.edit("article-107", title="Ada's", actor="ada", version=seen.version)

    assert Material.objects.get().title == "Grace's"


def test_an_unknown_material_cannot_be_edited() -> None:
    with pytest.raises(UnknownMaterial):
        actions.edit("article-107", title="x", actor="ada")


def test_text_is_stored_with_one_kind_of_line_break_and_tags_once() -> None:
    material = draft(
        title="  Two\r\nlines ",
        summary="a\tb",
        body="    code\r\n\r\nend\r",
        tags=[" amqp ", "", "amqp", "Queues"],
    )

    assert material.content == Content(
        title="Two lines",
        summary="a b",
        body="    code\n\nend\n",
        tags=("amqp", "Queues"),
    )


def test_materials_are_found_by_words_in_any_case_and_script() -> None:
    draft("article-1", title="Очереди, которые прощают", tags=["Надёжность"])
    draft("article-2", title="Queues that forgive")

    def found(words: str) -> list[str]:
        return sorted(matching(Material.objects.all(), words).values_list("material_id", flat=True))

    assert found("ОЧЕРЕДИ прощают") == found("надёжность") == ["article-1"]
    assert found("FORGIVE") == ["article-2"]
    assert found("article-") == ["article-1", "article-2"]
    assert found("100%") == found("_") == found("queues прощают") == []


def test_the_limits_beside_the_fields_are_those_of_the_event() -> None:
    properties = schema(MaterialPublished)["$defs"]["MaterialPublished"]["properties"]

    assert properties["title"]["maxLength"] == content.TITLE_LIMIT
    assert properties["summary"]["maxLength"] == content.SUMMARY_LIMIT
    assert properties["body"]["maxLength"] == content.BODY_LIMIT
    assert properties["tags"]["maxItems"] == content.TAGS_LIMIT
    assert properties["tags"]["items"]["maxLength"] == content.TAG_LIMIT
