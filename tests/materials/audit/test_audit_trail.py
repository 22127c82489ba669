"""`audit_trail`: what has been received, for people and for programs."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction

from materials.audit import trail
from materials.audit.models import AuditRecord
from materials.audit.projection import apply
from messaging import registry
from messaging.envelope import Event, decode
from tests.materials.catalog.facts import published, withdrawn

pytestmark = pytest.mark.django_db


def record(*batch: Event) -> None:
    with transaction.atomic():
        apply(batch, "default")


def audit_trail(*options: str) -> str:
    out = StringIO()
    call_command("audit_trail", *options, stdout=out)
    return out.getvalue()


def test_json_has_exactly_the_fields_of_the_contract_in_order_of_arrival() -> None:
    late = published("b", 2, actor="Ада", title="Очереди 😀")
    early = withdrawn("a", 2**63 - 1)
    record(late, early)

    found = json.loads(audit_trail("--json"))

    received = list(AuditRecord.objects.values_list("received_at", flat=True))
    assert found == [
        {
            "eventId": event.event_id,
            "type": event.type,
            "materialId": event.material_id,
            "revision": event.revision,
            "occurredAt": event.occurred_at_text,
            "receivedAt": f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z",
            "actor": event.actor,
            "envelope": event.document,
        }
        for event, moment in zip([late, early], received, strict=True)
    ]
    assert found[0]["actor"] == "Ада"
    assert found[1]["actor"] is None
    assert found[1]["revision"] == 9223372036854775807


def test_json_gives_the_envelope_as_it_came() -> None:
    text = (
        '{"data":{"reason":"\\u044f я","z":1.0,"n":12345678901234567890},"revision":7,\n'
        '"eventId":"0190c3c6-0000-7000-8000-000000000001","materialId":"a","schemaVersion":1,'
        '"type":"material.withdrawn","occurredAt":"2026-11-30T12:00:00.123456789+03:00"}'
    )
    record(decode(f" {text}\n".encode(), registry.event_types()))

    written = audit_trail("--json")

    assert f'"envelope": {text}}}' in written
    assert json.loads(written)[0]["occurredAt"] == "2026-11-30T12:00:00.123456789+03:00"


def test_json_of_nothing_is_an_empty_array() -> None:
    assert json.loads(audit_trail("--json")) == []
    assert json.loads(audit_trail("--json", "--material", "article-1")) == []


def test_one_material_can_be_chosen() -> None:
    first, second = published("a", 1), published("a", 2)
    record(second, published("a-1", 1), first, published("b", 1))

    found = json.loads(audit_trail("--json", "--material", "a"))

    assert [row["eventId"] for row in found] == [second.event_id, first.event_id]


@pytest.mark.parametrize("odd", ["", "Article-1", "a b", "-a", "a" * 65, "я", "\udcff", "a\n"])
def test_what_cannot_be_a_materials_id_is_wrong_use(odd: str) -> None:
    with pytest.raises(CommandError, match="is not a material's id"):
        audit_trail(f"--material={odd}")


def test_people_get_a_line_a_fact_and_no_control_characters() -> None:
    record(published("article-107", 12, actor="Eve\x1b[31m\u202e"), withdrawn("b", 3))

    lines = audit_trail().splitlines()

    assert len(lines) == 3
    assert lines[0].split() == [
        *("received", "(UTC)", "event", "material", "revision", "by", "event", "id")
    ]
    assert "published  article-107" in lines[1]
    assert "Eve\\x1b[31m\\u202e" in lines[1]
    assert "withdrawn  b" in lines[2]


def test_people_are_told_when_there_is_nothing() -> None:
    assert audit_trail() == "Nothing has been received.\n"


def test_a_long_trail_is_read_page_by_page(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(trail, "PAGE_SIZE", 10)
    events = [published(f"m-{number}") for number in range(25)]
    record(*events)

    with django_assert_num_queries(1):
        walk = trail.records()
        first = [next(walk) for _ in range(10)]
    with django_assert_num_queries(3):
        rest = list(walk)

    assert [str(each.event_id) for each in first + rest] == [event.event_id for event in events]


def test_one_materials_trail_is_read_from_an_index() -> None:
    record(*[published(f"m-{number}") for number in range(300)])
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE audit_record")

    plan = AuditRecord.objects.filter(material_id="m-7", id__gt=0).order_by("id")[:100].explain()

    assert "audit_material" in plan


def test_a_database_that_is_away_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> Iterator[AuditRecord]:
        raise OperationalError("connection to postgres://user:SECRETPW@host failed")
        yield

    monkeypatch.setattr(trail, "records", fail)

    with pytest.raises(CommandError) as caught:
        audit_trail("--json")

    assert caught.value.returncode == 1
    assert "SECRETPW" not in str(caught.value)
    assert "cannot be read now" in str(caught.value)
