"""The published JSON Schema says what decoding does."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from jsonschema import Draft202012Validator, FormatChecker
from pytest_django import Settings

from messaging.envelope import decode
from messaging.errors import PermanentError
from messaging.event.schema import render
from tests.messaging.event_bodies import ABSENT, TYPES, as_bytes, published, with_data, withdrawn

FILE = Path(__file__).parents[3] / "docs" / "event.schema.json"


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(content)
    return Draft202012Validator(content, format_checker=FormatChecker())


def test_the_file_in_docs_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == render(TYPES), "run manage.py event_schema"


GOOD = [
    published(),
    published(actor=ABSENT, revision=2**63 - 1, unknown={"a": None}),
    published(materialId="0.a_b-c", occurredAt="2026-01-02t03:04:05.123456789+05:30"),
    with_data(language="zh-Hant-TW", tags=["a"] * 20, summary="", body="", unknown=1),
    with_data(language="i-KLINGON", title="😀" * 200, tags=[]),
    with_data(language="en-x-" + "-".join(["abcdefgh"] * 4)),
    withdrawn(),
    withdrawn(data={"reason": "", "unknown": []}),
]
BAD = [
    *(published(**{name: ABSENT}) for name in published() if name != "actor"),
    *(published(**{name: None}) for name in published()),
    *(published(**{name: "\u00e9"}) for name in published() if name != "actor"),
    *(with_data(**{name: ABSENT}) for name in ("title", "summary", "body")),
    *(with_data(**{name: None}) for name in ("title", "summary", "body", "language", "tags")),
    *(with_data(**{name: 5}) for name in ("title", "summary", "body", "language", "tags")),
    published(eventId=published()["eventId"].upper() + "A"),
    published(eventId="0190A6F0-0000-7000-8000-000000000001"),
    published(type="material.exploded"),
    published(schemaVersion=2),
    published(schemaVersion=True),
    published(occurredAt="2026-01-02T03:04:05"),
    published(occurredAt="2026-01-02 03:04:05Z"),
    published(materialId=""),
    published(materialId="a" * 65),
    published(materialId="-a"),
    published(revision=0),
    published(revision=2**63),
    published(revision="3"),
    published(revision=True),
    published(actor=""),
    published(actor="a" * 151),
    published(data={"reason": "of the other type"}),
    with_data(title=""),
    with_data(title=" \u3000"),
    with_data(title="😀" * 201),
    with_data(summary="x" * 501),
    with_data(body="x" * 200_001),
    with_data(language="en_GB"),
    with_data(tags=["a"] * 21),
    with_data(tags=["a" * 51]),
    with_data(tags=[""]),
    withdrawn(data={}),
    withdrawn(data={"reason": "x" * 501}),
    [],
    "x",
    None,
]


@pytest.mark.parametrize("document", GOOD, ids=lambda document: ascii(document)[-40:])
def test_schema_and_decoding_accept_the_same(document: Any, schema: Draft202012Validator) -> None:
    schema.validate(document)

    decode(as_bytes(document), TYPES)


@pytest.mark.parametrize("document", BAD, ids=lambda document: ascii(document)[-40:])
def test_schema_and_decoding_refuse_the_same(document: Any, schema: Draft202012Validator) -> None:
    assert not schema.is_valid(document)

    with pytest.raises(PermanentError):
        decode(as_bytes(document), TYPES)


def test_the_command_writes_the_file_and_check_tells_when_it_is_stale(
    settings: Settings, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "event.schema.json"

    with pytest.raises(CommandError) as missing:
        call_command("event_schema", "--check")
    call_command("event_schema")
    call_command("event_schema", "--check")
    written = file.read_text(encoding="utf-8")
    file.write_text(written.replace("200000", "200001"), encoding="utf-8")
    with pytest.raises(CommandError) as stale:
        call_command("event_schema", "--check")

    assert written == FILE.read_text(encoding="utf-8")
    assert missing.value.returncode == stale.value.returncode == 1
    assert "200001" in file.read_text(encoding="utf-8")
