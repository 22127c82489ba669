"""The newest revision of a material wins, whatever came when and in whichever batch."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from materials import row_documents
from materials.catalog import projection
from materials.catalog.models import CatalogEntry
from messaging import registry
from tests.materials.catalog.facts import entry, project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 11, 30, 9, 15, 0, 123456, tzinfo=UTC)


def test_catalog_is_a_consumer_of_every_fact_about_materials() -> None:
    consumer = registry.consumer("catalog")

    assert consumer.patterns == ("material.*",)
    assert consumer.apply is projection.apply


def test_a_published_material_is_visible_with_all_that_its_event_says() -> None:
    fact = published(
        revision=2**63 - 1,
        title="Очереди, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 'and' \"quotes\" \\n",
        summary="line\nline",
        body="# Body\r\n{a,b} %s \\ \u2028 NULL",
        language="zh-Hant-TW",
        tags=["очереди", "{a,b}", '"', "NULL", "\\", "😀"],
        occurred_at=MOMENT,
    )

    stale = project(fact)

    assert stale == set()
    found = entry()
    assert found.visible
    assert found.revision == 2**63 - 1
    assert found.replaced_revision == 0
    assert found.title == fact.data.title
    assert found.summary == fact.data.summary
    assert found.body == fact.data.body
    assert found.language == "zh-Hant-TW"
    assert found.tags == ["очереди", "{a,b}", '"', "NULL", "\\", "😀"]
    assert found.published_at == MOMENT
    assert found.withdrawn_at is None
    assert found.event_id == uuid.UUID(fact.event_id)
    assert abs(timezone.now() - found.applied_at) < timedelta(minutes=1)


def test_an_event_without_language_and_tags_leaves_both_empty() -> None:
    project(published())

    assert (entry().language, entry().tags) == ("", [])


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 11, 30, 9, 0, 0, tzinfo=UTC),
    ],
)
def test_every_moment_of_the_contract_is_kept(moment: datetime) -> None:
    project(published(occurred_at=moment))

    assert entry().published_at == moment


def test_a_withdrawn_material_is_remembered_without_its_text() -> None:
    project(published(title="Secret", summary="Secret", body="Secret", tags=["secret"]))

    stale = project(withdrawn(revision=2, reason="A mistake", occurred_at=MOMENT))

    found = entry()
    assert stale == set()
    assert not found.visible
    assert found.revision == 2
    assert (found.title, found.summary, found.body, found.tags) == ("", "", "", [])
    assert found.published_at is None
    assert (found.withdrawn_at, found.withdrawn_reason) == (MOMENT, "A mistake")


def test_a_withdrawal_that_comes_first_is_not_undone_by_its_publication() -> None:
    late = published(revision=1)
    project(withdrawn(revision=2))

    stale = project(late)

    assert stale == {late.event_id}
    assert not entry().visible


def test_a_material_may_be_published_again_after_its_withdrawal() -> None:
    project(published(revision=1), withdrawn(revision=2, reason="A mistake"))

    project(published(revision=3, title="Better"))

    found = entry()
    assert found.visible
    assert found.title == "Better"
    assert (found.withdrawn_at, found.withdrawn_reason) == (None, "")


def test_a_hole_in_the_revisions_holds_nothing_up() -> None:
    project(published(revision=1))

    project(published(revision=5))

    assert (entry().revision, entry().replaced_revision) == (5, 1)


def test_the_same_revision_again_is_stale_and_the_first_one_stands() -> None:
    first, second = published(title="First"), published(title="Second")
    project(first)

    stale = project(second)

    assert stale == {second.event_id}
    assert entry().title == "First"
    assert entry().event_id == uuid.UUID(first.event_id)


def test_a_newer_revision_renews_the_moment_it_was_applied() -> None:
    project(published(revision=1))
    CatalogEntry.objects.update(applied_at=MOMENT)

    project(published(revision=2))

    assert entry().applied_at != MOMENT


def test_a_stale_event_leaves_the_row_untouched() -> None:
    project(published(revision=3))
    before = CatalogEntry.objects.values().get()

    project(published(revision=2))

    assert CatalogEntry.objects.values().get() == before


def test_a_batch_in_order_is_applied_whole() -> None:
    batch = [published(revision=1), published(revision=2), withdrawn(revision=3)]

    stale = project(*batch)

    assert stale == set()
    assert (entry().revision, entry().visible) == (3, False)


def test_a_batch_out_of_order_has_the_outcomes_of_one_after_another() -> None:
    project(published(revision=2))
    batch = [published(revision=revision) for revision in (1, 4, 2, 3, 4, 6, 5)]

    stale = project(*batch)

    assert [event.event_id in stale for event in batch] == [
        *(True, False, True, True, True, False, True)
    ]
    assert (entry().revision, entry().replaced_revision) == (6, 2)


def test_among_equal_revisions_of_a_batch_the_first_to_arrive_stands() -> None:
    first, second = published(title="First"), published(title="Second")

    stale = project(first, second)

    assert stale == {second.event_id}
    assert entry().title == "First"


def test_a_batch_of_stale_events_alone_changes_nothing() -> None:
    project(published(revision=9))
    batch = [published(revision=8), withdrawn(revision=9)]

    stale = project(*batch)

    assert stale == {event.event_id for event in batch}
    assert entry().visible


def test_materials_of_one_batch_do_not_touch_each_other() -> None:
    project(published("b", revision=5))

    batch = [published("b", 4), published("a", 1), withdrawn("c", 2), published("c", 1)]
    stale = project(*batch)

    assert stale == {batch[0].event_id, batch[3].event_id}
    assert list(CatalogEntry.objects.values_list("material_id", "revision", "visible")) == [
        ("a", 1, True),
        ("b", 5, True),
        ("c", 2, False),
    ]


@pytest.mark.parametrize("size", [0, 1, 2, 83, 84, 500, 2000])
def test_a_batch_may_have_any_size(size: int) -> None:
    stale = project_batch([published(f"article-{number}") for number in range(size)])

    assert stale == set()
    assert CatalogEntry.objects.filter(visible=True).count() == size


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite limits a statement")
def test_a_batch_is_one_statement_on_postgresql(django_assert_num_queries: Any) -> None:
    batch = [published(f"article-{n % 100}", n + 1) for n in range(500)]

    with transaction.atomic(), django_assert_num_queries(1):
        stale = projection.apply(batch, "default")

    assert stale == set()
    assert CatalogEntry.objects.count() == 100


def test_large_texts_are_spread_over_statements_without_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_documents, "DOCUMENT_BYTES", 10_000)
    batch = [published(f"article-{n % 7}", n + 1, body=f"{n} " * 1500) for n in range(40)]

    stale = project_batch(batch)

    assert stale == set()
    assert sum(CatalogEntry.objects.values_list("revision", flat=True)) == sum(range(34, 41))


def test_the_longest_texts_of_the_contract_fit() -> None:
    project(
        published(
            "a" * 64,
            title="я" * 200,
            summary="я" * 500,
            body="я" * 120_000,
            language="en-" + "-".join(["abcdefgh"] * 3) + "-abcde",
            tags=["я" * 49 + str(n % 10) for n in range(20)],
        ),
        withdrawn("w" * 64, reason="я" * 500),
    )

    assert len(entry("a" * 64).body) == 120_000
    assert len(entry("w" * 64).withdrawn_reason) == 500


@pytest.mark.parametrize(
    "nonsense",
    [
        {"revision": 0},
        {"published_at": None},
        {"withdrawn_at": MOMENT},
        {"visible": False},
    ],
    ids=str,
)
def test_the_database_refuses_a_row_that_makes_no_sense(nonsense: dict[str, Any]) -> None:
    project(published())

    with pytest.raises(IntegrityError), transaction.atomic():
        CatalogEntry.objects.update(**nonsense)


def test_the_public_list_is_read_from_its_index() -> None:
    project_batch([published(f"article-{number}") for number in range(300)])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE catalog_entry")

    plan = CatalogEntry.objects.published().only("pk")[:20].explain()

    # On SQLite another index holds the entries in the same order.
    assert "catalog_public_list" in plan or "INDEX catalog_shelves" in plan
    assert "TEMP B-TREE" not in plan
    assert "Sort" not in plan
