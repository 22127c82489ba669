"""The audit trail: every fact once, as it was received, in order of arrival."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from materials import row_documents
from materials.audit import projection
from materials.audit.models import AuditRecord
from messaging import registry
from messaging.envelope import Event, decode
from tests.materials.catalog.facts import published, withdrawn

pytestmark = pytest.mark.django_db


def record(*batch: Event) -> set[str]:
    return record_batch(batch)


def record_batch(batch: Sequence[Event]) -> set[str]:
    with transaction.atomic():
        return projection.apply(batch, "default")


def as_received(text: str) -> Event:
    return decode(text.encode(), registry.event_types())


def recorded_ids() -> list[str]:
    return [str(each) for each in AuditRecord.objects.values_list("event_id", flat=True)]


def test_audit_is_a_consumer_of_every_fact_about_materials() -> None:
    consumer = registry.consumer("audit")

    assert consumer.patterns == ("material.*",)
    assert consumer.apply is projection.apply


def test_a_record_has_the_fields_of_the_event_and_the_moment_of_receipt() -> None:
    fact = published(
        "article-107", 2**63 - 1, actor="Ада\n", occurred_at=datetime(1, 1, 1, tzinfo=UTC)
    )

    record(fact)

    found = AuditRecord.objects.get()
    assert found.event_id == uuid.UUID(fact.event_id)
    assert found.type == "material.published"
    assert found.material_id == "article-107"
    assert found.revision == 2**63 - 1
    assert found.occurred_at == datetime(1, 1, 1, tzinfo=UTC)
    assert found.actor == "Ада\n"
    assert abs(timezone.now() - found.received_at) < timedelta(minutes=1)


def test_an_event_without_an_actor_is_recorded_without_one() -> None:
    record(withdrawn())

    assert AuditRecord.objects.get().actor == ""


def test_the_envelope_is_kept_character_by_character() -> None:
    text = (
        ' {"data" : {"reason":"\\u044f \\ud83d\\ude00 \\"\\\\ {NULL,} \'%s\' я😀\u2028",\r\n'
        '"z":1.0, "a":1e2, "n":12345678901234567890, "f":0.10, "z0":-0.0},\t"revision": 7,\n'
        '  "eventId":"0190c3c6-0000-7000-8000-000000000001","materialId":"a","future":{"b":[],'
        '"a":null},"schemaVersion":1,"occurredAt":"2026-11-30T12:00:00.123456789+03:00",'
        '"type":"material.withdrawn"}\n '
    )

    record(as_received(text))

    assert AuditRecord.objects.get().envelope == text


def test_records_stand_in_order_of_arrival_whatever_their_revisions() -> None:
    batch = [published("b", 3), published("a", 9), withdrawn("b", 1), published("a", 1)]

    stale = record(*batch)

    assert stale == set()
    assert recorded_ids() == [event.event_id for event in batch]


def test_a_fact_that_is_there_already_is_left_alone() -> None:
    first, second = published("a"), published("b")
    record(first)
    before = AuditRecord.objects.values().get()

    stale = record(second, first)

    assert stale == set()
    assert recorded_ids() == [first.event_id, second.event_id]
    assert AuditRecord.objects.values().first() == before


@pytest.mark.parametrize("size", [0, 1, 142, 143, 500, 2000])
def test_a_batch_may_have_any_size(size: int) -> None:
    batch = [published(f"article-{number}") for number in range(size)]

    record_batch(batch)

    assert recorded_ids() == [event.event_id for event in batch]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite limits a statement")
def test_a_batch_is_one_statement_on_postgresql(django_assert_num_queries: Any) -> None:
    batch = [published(f"article-{number}") for number in range(500)]

    with transaction.atomic(), django_assert_num_queries(1):
        projection.apply(batch, "default")

    assert recorded_ids() == [event.event_id for event in batch]


def test_large_envelopes_are_spread_over_statements_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_documents, "DOCUMENT_BYTES", 10_000)
    batch = [published(f"article-{n}", body=f"{n} " * 1500) for n in range(40)]

    record_batch(batch)

    assert recorded_ids() == [event.event_id for event in batch]


def test_the_database_refuses_a_second_record_of_one_fact() -> None:
    record(published())
    twin = AuditRecord.objects.get()
    twin.pk = None

    with pytest.raises(IntegrityError), transaction.atomic():
        twin.save(force_insert=True)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_however_facts_are_repeated_and_batched_each_is_recorded_once(data: st.DataObject) -> None:
    facts = [published(f"m-{n}", n + 1) for n in range(data.draw(st.integers(1, 8)))]
    deliveries = data.draw(st.lists(st.sampled_from(facts), max_size=20))
    cut = data.draw(st.integers(0, len(deliveries)))
    expected = list(dict.fromkeys(event.event_id for event in deliveries))

    with transaction.atomic():
        for batch in (deliveries[:cut], deliveries[cut:], deliveries):
            assert record_batch(batch) == set()
        recorded = recorded_ids()
        transaction.set_rollback(True)

    assert recorded == expected
