"""Two workers at once: the row is locked, then judged, so neither undoes the other."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections, transaction

from materials.catalog.models import CatalogEntry
from materials.catalog.projection import apply
from messaging.envelope import Event
from tests.eventually import eventually
from tests.materials.catalog.facts import entry, project, published, withdrawn

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_batch_is_judged_by_the_row_that_another_worker_was_just_inserting() -> None:
    batch = [published(revision=revision) for revision in (1, 2, 5)]

    stale = meet(published(revision=3), batch)

    assert stale == {batch[0].event_id, batch[1].event_id}
    assert (entry().revision, entry().replaced_revision) == (5, 3)


def test_a_batch_is_wholly_stale_when_another_worker_was_just_inserting_a_newer_one() -> None:
    batch = [published(revision=1), published(revision=2)]

    stale = meet(withdrawn(revision=3), batch)

    assert stale == {event.event_id for event in batch}
    assert (entry().revision, entry().visible) == (3, False)


def test_a_batch_is_judged_by_the_row_that_another_worker_was_just_replacing() -> None:
    project(published(revision=1))
    batch = [published(revision=revision) for revision in (2, 3, 4)]

    stale = meet(published(revision=3), batch)

    assert stale == {batch[0].event_id, batch[1].event_id}
    assert entry().revision == 4


def test_a_batch_is_applied_when_the_other_worker_gives_up() -> None:
    batch = [published(revision=1), published(revision=2)]

    stale = meet(published(revision=3), batch, other_commits=False)

    assert stale == set()
    assert entry().revision == 2


def test_many_workers_end_in_the_newest_revisions_and_agree_on_the_outcomes() -> None:
    chance = random.Random(107)
    facts = [published(f"article-{n}", revision) for n in range(12) for revision in range(1, 9)]
    chance.shuffle(facts)
    batches = [facts[start : start + 16] for start in range(0, len(facts), 16)]

    with ThreadPoolExecutor(4) as pool:
        stale = set().union(*pool.map(handle_patiently, batches))

    assert set(CatalogEntry.objects.values_list("revision", flat=True)) == {8}
    newest = {event.event_id for event in facts if event.revision == 8}
    assert not newest & stale
    # Each batch alone knows its own order: an event that is older than one before it is stale.
    for batch in batches:
        seen: dict[str, int] = {}
        for event in batch:
            if event.revision < seen.get(event.material_id, 0):
                assert event.event_id in stale
            seen[event.material_id] = max(event.revision, seen.get(event.material_id, 0))


def meet(other: Event, batch: Sequence[Event], *, other_commits: bool = True) -> set[str]:
    """Apply the batch while another worker holds its own, uncommitted; the batch's stale ones."""
    applied, may_end = threading.Event(), threading.Event()

    def other_worker() -> None:
        try:
            with transaction.atomic():
                apply([other], "default")
                applied.set()
                assert may_end.wait(timeout=30)
                transaction.set_rollback(not other_commits)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(other_worker)
        assert applied.wait(timeout=30)
        second = pool.submit(handle_patiently, batch)
        if connection.vendor == "postgresql":
            # SQLite keeps the second one out before it begins; here it waits for the row.
            eventually(somebody_waits_for_a_lock)
        may_end.set()
        first.result(timeout=30)
        return second.result(timeout=30)


def handle_patiently(batch: Sequence[Event]) -> set[str]:
    """As a worker does: a batch that met a locked database is tried again."""
    try:
        while True:
            try:
                with transaction.atomic():
                    return apply(batch, "default")
            except OperationalError:
                if connection.vendor == "postgresql":
                    raise
    finally:
        connections.close_all()


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])
