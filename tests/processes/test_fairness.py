"""A large action in the outbox, and what somebody waits for beside it."""

import pytest

from materials.audit.models import AuditRecord
from messaging.models import InboxReceipt, OutboxMessage
from messaging.sending import bulk_pace
from tests.eventually import eventually
from tests.messaging import facts
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import (
    all_sent,
    complete_and_in_order,
    free_lease,
    record,
    record_facts,
    record_many,
    relaying,
)
from tests.processes.working import working

BULK = 10_000


def test_an_editors_fact_is_applied_while_most_of_an_import_is_still_pending(run: Run) -> None:
    record_many(BULK, materials=BULK, bulk=True)
    run("consume", "catalog")
    run("consume", "audit")
    run("relay_outbox")
    eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").exists())

    (fact,) = record(facts.published("article-7", 2))
    receipts = InboxReceipt.objects.filter(consumer="catalog", material_id="article-7")
    eventually(lambda: receipts.count() == 2, 60)

    assert OutboxMessage.objects.pending().count() > BULK / 3
    assert set(receipts.values_list("outcome", flat=True)) == {"applied"}
    fact.refresh_from_db()
    assert fact.state == "sent"


def test_both_lanes_keep_a_materials_order_on_the_wire_also_past_a_crash(
    run: Run, queues: Queues
) -> None:
    rows = record_facts(1500, materials=300, bulk=True)  # revisions 1 to 5
    rows += record(*(facts.published(f"article-{n}", 6) for n in range(40)))
    rows += record(*(facts.published(f"article-{n}", 7) for n in range(20)), bulk=True)
    killed = run.killed_at(
        "messaging.sending.outbox_queue:mark_sent", "relay_outbox", when="before", nth=2
    )
    assert killed.wait() == -9, killed.report()
    rows += record(*(facts.published(f"article-{n}", 8) for n in range(20)))
    free_lease()

    with relaying(), working("audit"):
        eventually(lambda: all_sent(rows), 60)
        eventually(lambda: AuditRecord.objects.count() == len(rows), 60)

    assert complete_and_in_order(queues.wire.drain(queues.topology.main("catalog")), rows)


def test_a_consumer_that_stands_still_stops_nobody_elses_bulk(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_pace, "STANDSTILL_SECONDS", 0.5)
    rows = record_facts(1500, materials=1500, bulk=True)

    with relaying(), working("audit"):  # nobody consumes for the catalog
        eventually(lambda: all_sent(rows), 60)
        eventually(lambda: AuditRecord.objects.count() == len(rows), 60)

    assert queues.ready("catalog") == {"main": len(rows)}
