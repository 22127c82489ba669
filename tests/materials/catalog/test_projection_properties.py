"""Whatever the sequence and however it is cut into batches: as if one after another."""

from collections.abc import Iterable, Sequence
from datetime import UTC
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from materials.catalog.models import CatalogEntry
from materials.catalog.projection import apply
from materials.events import PUBLISHED
from messaging.envelope import Event
from tests.materials.catalog.facts import published, withdrawn

pytestmark = pytest.mark.django_db

material_ids = st.sampled_from(["a", "a-1", "a.1", "a_1", "b"])
revisions = st.one_of(st.integers(1, 5), st.just(2**63 - 1))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
moments = st.datetimes(timezones=st.just(UTC))

publications = st.builds(
    published,
    material_ids,
    revisions,
    title=texts.map(lambda text: f"T{text}"),
    summary=texts,
    body=texts,
    language=st.sampled_from([None, "en", "ru", "pt-BR"]),
    tags=st.lists(texts.map(lambda text: f"t{text}"), max_size=3),
    occurred_at=moments,
)
withdrawals = st.builds(withdrawn, material_ids, revisions, reason=texts, occurred_at=moments)
facts = st.lists(publications | withdrawals, max_size=25)


@st.composite
def batched_facts(draw: st.DrawFn) -> list[list[Event]]:
    events = draw(facts)
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=6)))
    edges = [0, *cuts, len(events)]
    return [events[start:end] for start, end in pairwise(edges)]


@settings(deadline=None, max_examples=150)
@given(batched_facts())
def test_outcomes_and_rows_equal_those_of_one_after_another(batches: list[list[Event]]) -> None:
    expected_newest, expected_stale = handle_one_after_another(
        event for batch in batches for event in batch
    )

    stale, rows = handle(batches)

    assert stale == expected_stale
    assert rows == {material_id: row_of(event) for material_id, event in expected_newest.items()}


@settings(deadline=None, max_examples=75)
@given(
    st.lists(
        publications | withdrawals, max_size=15, unique_by=lambda e: (e.material_id, e.revision)
    ),
    st.randoms(use_true_random=False),
)
def test_every_order_of_arrival_ends_in_the_same_catalog(events: list[Event], chance: Any) -> None:
    shuffled = list(events)
    chance.shuffle(shuffled)

    _, rows = handle([events])
    _, rows_of_shuffled = handle([[event] for event in shuffled])

    assert rows == rows_of_shuffled


def handle_one_after_another(events: Iterable[Event]) -> tuple[dict[str, Event], set[str]]:
    """The model: no batches, no database."""
    newest: dict[str, Event] = {}
    stale: set[str] = set()
    for event in events:
        known = newest.get(event.material_id)
        if known is not None and event.revision <= known.revision:
            stale.add(event.event_id)
        else:
            newest[event.material_id] = event
    return newest, stale


def handle(batches: Sequence[Sequence[Event]]) -> tuple[set[str], dict[str, dict[str, Any]]]:
    """The projection, each batch in a transaction; everything is taken back at the end."""
    stale: set[str] = set()
    with transaction.atomic():
        for batch in batches:
            with transaction.atomic():
                stale |= apply(batch, "default")
        rows = {row.pop("material_id"): row for row in CatalogEntry.objects.values(*COMPARED)}
        transaction.set_rollback(True)
    return stale, rows


COMPARED = (
    *("material_id", "revision", "visible", "title", "summary", "body", "language", "tags"),
    *("published_at", "withdrawn_at", "withdrawn_reason"),
)


def row_of(event: Event) -> dict[str, Any]:
    is_public = event.type == PUBLISHED
    return {
        "revision": event.revision,
        "visible": is_public,
        "title": event.data.title if is_public else "",
        "summary": event.data.summary if is_public else "",
        "body": event.data.body if is_public else "",
        "language": (event.data.language or "") if is_public else "",
        "tags": list(event.data.tags) if is_public else [],
        "published_at": event.occurred_at if is_public else None,
        "withdrawn_at": None if is_public else event.occurred_at,
        "withdrawn_reason": "" if is_public else event.data.reason,
    }
