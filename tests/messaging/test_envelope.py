"""What is an event and what is not: CONTRACT 1 field by field."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from materials.events import MaterialPublished, MaterialWithdrawn
from messaging.envelope import Event, decode
from messaging.errors import MalformedEvent, PermanentError, UnsupportedEvent
from tests.messaging.event_bodies import (
    ABSENT,
    EVENT_ID,
    TYPES,
    as_bytes,
    published,
    replaced,
    with_data,
    withdrawn,
)


def decoded(document: Any) -> Event:
    return decode(document if isinstance(document, bytes) else as_bytes(document), TYPES)


def refusal(document: Any) -> str:
    """The text of MalformedEvent, which must be fit for a log, a header and a column."""
    with pytest.raises(MalformedEvent) as caught:
        decoded(document)
    text = str(caught.value)
    assert text
    assert len(text) <= 250
    assert text.isprintable()
    text.encode("utf-8")
    return text


def test_every_field_of_a_published_event_is_read() -> None:
    body = as_bytes(
        published(
            data={
                "title": "Заголовок",
                "summary": "",
                "body": "# Text",
                "language": "ru",
                "tags": ["a", "b"],
            }
        )
    )

    event = decode(body, TYPES)

    assert event.event_id == EVENT_ID
    assert event.type == "material.published"
    assert event.schema_version == 1
    assert event.occurred_at == datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert event.occurred_at_text == "2026-01-02T03:04:05.000006Z"
    assert event.material_id == "article-107"
    assert event.revision == 3
    assert event.actor == "editor"
    assert event.data == MaterialPublished("Заголовок", "", "# Text", "ru", ("a", "b"))
    assert event.document == json.loads(body)
    assert event.body is body


def test_a_withdrawn_event_has_data_of_its_own() -> None:
    event = decoded(withdrawn())

    assert event.data == MaterialWithdrawn("Out of date")


def test_optional_fields_may_be_absent() -> None:
    event = decoded(published(actor=ABSENT))

    assert event.actor is None
    assert event.data.language is None
    assert event.data.tags == ()


def test_unknown_fields_are_kept_wherever_they_stand() -> None:
    document = with_data(sponsor={"name": "x", "weights": [1, 2.5, None, True]})
    document["trace"] = ["a", {"b": None}]

    event = decoded(document)

    assert event.document == document


def test_an_event_cannot_be_changed_and_does_not_print_its_body() -> None:
    event = decoded(with_data(body="very private"))

    with pytest.raises(AttributeError):
        event.revision = 4  # type: ignore[misc]
    assert "private" not in repr(event)
    assert EVENT_ID in repr(event)


@pytest.mark.parametrize(
    "name", ["eventId", "type", "schemaVersion", "occurredAt", "materialId", "revision", "data"]
)
def test_a_missing_field_is_named(name: str) -> None:
    assert name in refusal(published(**{name: ABSENT}))


@pytest.mark.parametrize("name", ["title", "summary", "body"])
def test_missing_data_of_a_published_event_is_named(name: str) -> None:
    assert name in refusal(with_data(**{name: ABSENT}))


def test_a_withdrawal_without_a_reason_is_malformed() -> None:
    assert "reason" in refusal(withdrawn(data={}))


WRONG_FOR_A_STRING = [None, True, 5, 2.5, [], ["a"], {}, {"a": 1}]


@pytest.mark.parametrize("value", WRONG_FOR_A_STRING, ids=repr)
@pytest.mark.parametrize("name", ["eventId", "type", "occurredAt", "materialId", "actor"])
def test_only_a_string_is_a_string(name: str, value: object) -> None:
    assert name in refusal(published(**{name: value}))


@pytest.mark.parametrize("value", WRONG_FOR_A_STRING, ids=repr)
@pytest.mark.parametrize("name", ["title", "summary", "body", "language"])
def test_only_a_string_is_a_string_in_the_data(name: str, value: object) -> None:
    assert name in refusal(with_data(**{name: value}))


@pytest.mark.parametrize("value", WRONG_FOR_A_STRING, ids=repr)
def test_only_a_string_is_a_reason(value: object) -> None:
    assert "reason" in refusal(withdrawn(data={"reason": value}))


@pytest.mark.parametrize("value", [None, True, 5, "x", []], ids=repr)
def test_only_an_object_is_data(value: object) -> None:
    assert "data" in refusal(published(data=value))


@pytest.mark.parametrize("value", [None, True, 5, "x", {}, {"0": "a"}, [1], [None], [["a"]]])
def test_only_an_array_of_strings_are_tags(value: object) -> None:
    assert "tags" in refusal(with_data(tags=value))


@pytest.mark.parametrize(
    "literal",
    [
        *("true", "false", "null", "[1]", "{}", '"3"', '""'),
        *("3.0", "3.7", "3e0", "30E-1", "1e400", "-0", "-0.0"),
        *("0", "-1", "9223372036854775808", "9" * 20, "9" * 4300, "9" * 4301),
        *("0x3", "03", "+3", "3_0", "NaN", "Infinity", "-Infinity", "١"),
    ],
    ids=lambda literal: literal[:24],
)
@pytest.mark.parametrize("name", ["revision"])
def test_only_an_integer_in_range_is_a_revision(name: str, literal: str) -> None:
    refusal(replaced(name, literal))


@pytest.mark.parametrize("revision", [1, 2**31, 2**63 - 1])
def test_a_revision_has_63_bits(revision: int) -> None:
    assert decoded(published(revision=revision)).revision == revision


@pytest.mark.parametrize("literal", ["true", "null", '"1"', "1.0", "1e0", "[]", "{}"])
def test_only_an_integer_is_a_schema_version(literal: str) -> None:
    assert "schemaVersion" in refusal(replaced("schemaVersion", literal))


@pytest.mark.parametrize("version", [0, -1, 2, 10**18, 10**300])
def test_another_schema_version_is_unsupported(version: int) -> None:
    with pytest.raises(UnsupportedEvent, match="schemaVersion"):
        decoded(published(schemaVersion=version))


@pytest.mark.parametrize(
    "event_type", ["", "material.exploded", "MATERIAL.PUBLISHED", "material.published ", "я" * 300]
)
def test_another_type_is_unsupported_and_quoted_in_part(event_type: str) -> None:
    with pytest.raises(UnsupportedEvent) as caught:
        decoded(published(type=event_type))

    assert event_type[:30] in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_later_version_may_have_any_other_fields() -> None:
    with pytest.raises(UnsupportedEvent):
        decoded({"type": "material.published", "schemaVersion": 2, "id": 5, "data": []})


def test_strict_json_comes_before_type_and_version() -> None:
    refusal(b'{"type": "material.exploded", "schemaVersion": 9, "x": "\\ud800"}')


@pytest.mark.parametrize(
    "event_id",
    [
        "",
        EVENT_ID.upper(),
        EVENT_ID.replace("-", ""),
        f"{{{EVENT_ID}}}",
        f"urn:uuid:{EVENT_ID}",
        f"{EVENT_ID} ",
        f"{EVENT_ID}\n",
        f" {EVENT_ID}",
        EVENT_ID[:-1],
        f"{EVENT_ID}0",
        EVENT_ID.replace("0", "g", 1),
        EVENT_ID.replace("0", "٠", 1),
        "x" * 10_000,
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_an_event_id_has_one_spelling(event_id: str) -> None:
    assert "eventId" in refusal(published(eventId=event_id))


@pytest.mark.parametrize(
    "event_id", ["00000000-0000-0000-0000-000000000000", "3d813cbb-47fb-432f-b4d8-9f3b5ed3f6c1"]
)
def test_any_version_of_uuid_names_a_fact(event_id: str) -> None:
    assert decoded(published(eventId=event_id)).event_id == event_id


@pytest.mark.parametrize("material_id", ["a", "0", "article-107", "a.b_c-d", "9" * 64, "a.."])
def test_material_ids_of_the_contract(material_id: str) -> None:
    assert decoded(published(materialId=material_id)).material_id == material_id


@pytest.mark.parametrize(
    "material_id",
    ["", "-a", ".a", "_a", "A", "a b", "a/b", "a\n", "é", "а", "a" * 65, "a" * 10_000, "a\u0660"],
    ids=lambda text: ascii(text)[:20],
)
def test_other_material_ids_are_malformed(material_id: str) -> None:
    assert "materialId" in refusal(published(materialId=material_id))


@pytest.mark.parametrize("actor", ["e", "я" * 150, "😀" * 150, " "])
def test_an_actor_is_counted_in_characters(actor: str) -> None:
    assert decoded(published(actor=actor)).actor == actor


@pytest.mark.parametrize("actor", ["", "я" * 151], ids=["empty", "151"])
def test_an_actor_is_neither_empty_nor_long(actor: str) -> None:
    assert "actor" in refusal(published(actor=actor))


LONGEST = {"title": 200, "summary": 500, "body": 200_000}


@pytest.mark.parametrize("letter", ["x", "\\"], ids=["plain", "escaped"])
@pytest.mark.parametrize(("name", "longest"), LONGEST.items())
def test_a_text_may_be_as_long_as_the_contract_says(name: str, longest: int, letter: str) -> None:
    count = longest if letter == "x" else min(longest, 100_000)
    text = letter * count

    assert getattr(decoded(with_data(**{name: text})).data, name) == text


@pytest.mark.parametrize(("name", "longest"), LONGEST.items())
def test_a_text_may_not_be_longer(name: str, longest: int) -> None:
    assert name in refusal(with_data(**{name: "x" * (longest + 1)}))


@pytest.mark.parametrize(("name", "longest"), [("title", 200), ("summary", 500)])
def test_a_text_is_counted_in_characters_not_in_bytes_or_utf_16(name: str, longest: int) -> None:
    text = "😀" * longest

    assert getattr(decoded(with_data(**{name: text})).data, name) == text
    assert name in refusal(with_data(**{name: text + "😀"}))


def test_a_reason_has_500_characters() -> None:
    assert decoded(withdrawn(data={"reason": ""})).data.reason == ""
    assert decoded(withdrawn(data={"reason": "я" * 500})).data.reason == "я" * 500
    assert "reason" in refusal(withdrawn(data={"reason": "я" * 501}))


@pytest.mark.parametrize(
    "title", ["", " ", "\n\t", "\u00a0", "\u3000\u2003", "\u2028", "\u0085"], ids=ascii
)
def test_a_title_is_not_blank(title: str) -> None:
    assert "title" in refusal(with_data(title=title))


def test_a_title_keeps_its_white_space() -> None:
    assert decoded(with_data(title=" a\n")).data.title == " a\n"


def test_tags_are_up_to_twenty_of_up_to_fifty_characters() -> None:
    most = ["я" * 50] * 20

    assert decoded(with_data(tags=most)).data.tags == tuple(most)
    assert decoded(with_data(tags=[])).data.tags == ()
    assert "tags" in refusal(with_data(tags=["a"] * 21))
    assert "tags" in refusal(with_data(tags=["a", "я" * 51]))
    assert "tags" in refusal(with_data(tags=[""]))


@pytest.mark.parametrize(
    "language",
    [
        *("ru", "en", "EN", "ast", "en-GB", "es-419", "zh-Hant-TW", "sr-Latn", "de-CH-1901"),
        *("sl-rozaj-biske-1994", "zh-cmn-Hans-CN", "de-DE-u-co-phonebk", "en-a-bbb-x-a-ccc"),
        *("x-whatever", "X-A", "en-x-twain", "i-klingon", "I-Default", "en-gb-oed", "sgn-BE-FR"),
        *("art-lojban", "zh-min-nan", "qaa-Qaaa-QM-x-southern", "abcdefgh"),
        "en-x-" + "-".join(["abcdefgh"] * 4),
    ],
)
def test_well_formed_language_tags(language: str) -> None:
    assert decoded(with_data(language=language)).data.language == language


@pytest.mark.parametrize(
    "language",
    [
        *("", "e", "english1", "abcdefghi", "en_GB", "en-", "-en", "en--GB", "en-GB-", "12", "x"),
        *("x-", "en-u", "en-x", "en-a", "a-DE", "ru\n", "ру", "en GB", "i-unknown", "de-419-DE"),
        *("en-abcdefghi", "x-abcdefghi", "ar-a-aaa-b-", "\u0661\u0662"),
    ],
    ids=ascii,
)
def test_other_language_tags_are_malformed(language: str) -> None:
    assert "language" in refusal(with_data(language=language))


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"\n", b"null", b"[]", b'"x"', b"1", b"true", b"1.5"]
)
def test_anything_but_an_object_is_malformed(body: bytes) -> None:
    refusal(body)


def test_an_object_in_an_array_is_no_event() -> None:
    assert "array" in refusal(as_bytes([published()]))


def test_malformed_and_unsupported_events_can_never_work() -> None:
    assert issubclass(MalformedEvent, PermanentError)
    assert issubclass(UnsupportedEvent, PermanentError)
