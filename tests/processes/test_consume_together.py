"""Several processes of one consumer: the database decides, each event has one effect."""

import random
import signal
from pathlib import Path

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging.models import FailedAttempt, InboxReceipt
from tests.eventually import eventually
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues


def test_two_processes_with_every_event_many_times_over_apply_each_once(
    run: Run, queues: Queues
) -> None:
    facts = [published(f"article-{n}", r) for n in range(12) for r in range(1, 6)]
    copies = facts * 8
    random.Random(7).shuffle(copies)
    workers = [run("consume", "catalog") for _ in range(2)]
    auditors = [run("consume", "audit", "--prefetch", "20") for _ in range(2)]
    for command in workers + auditors:
        command.wait_for("consuming")

    queues.publish(*copies)

    for name in ("catalog", "audit"):
        eventually(
            lambda name=name: InboxReceipt.objects.filter(consumer=name).count() == len(facts)
        )
        queues.await_ready(name)
    for command in workers + auditors:
        assert command.terminate() == 0, command.report()
    for name in ("catalog", "audit"):
        receipts = InboxReceipt.objects.filter(consumer=name)
        assert sum(receipts.values_list("duplicates", flat=True)) == 7 * len(facts)
    assert AuditRecord.objects.count() == len(facts)
    assert set(CatalogEntry.objects.values_list("revision", flat=True)) == {5}
    assert CatalogEntry.objects.count() == 12
    assert FailedAttempt.objects.count() == 0
    told = [[r for r in each.log if r.get("outcome")] for each in workers]
    assert all(told), "both had a share of the work"
    assert sum(r["outcome"] in ("applied", "stale") for each in told for r in each) == len(facts)


def test_of_two_processes_inside_the_handler_with_one_event_one_applies_it(
    run: Run, queues: Queues, tmp_path: Path
) -> None:
    event, gate = published(), tmp_path / "go on"
    workers = [
        run.with_handler(f"waiting:{gate}", "consume", "audit", "--prefetch", "1") for _ in range(2)
    ]
    for worker in workers:
        worker.wait_for("consuming")
    queues.publish(event, event)
    eventually(lambda: any("at work on" in worker.stdout for worker in workers))
    eventually(lambda: queues.ready("audit") == {})

    gate.touch()

    queues.await_ready("audit")
    eventually(lambda: InboxReceipt.objects.filter(duplicates=1).exists())
    assert AuditRecord.objects.count() == 1
    assert "".join(worker.stdout for worker in workers).count("at work on") == 1
    assert FailedAttempt.objects.count() == 0


def test_when_one_of_two_is_killed_the_other_does_its_work(run: Run, queues: Queues) -> None:
    events = [published(f"article-{number}") for number in range(1000)]
    queues.publish(*events)
    doomed = run.with_handler("sleeping:0.2", "consume", "audit", "--prefetch", "100")
    doomed.wait_for("at work on")
    other = run("consume", "audit", "--prefetch", "100")
    other.wait_for('"applied"')

    doomed.send(signal.SIGKILL)

    eventually(lambda: AuditRecord.objects.count() == 1000)
    queues.await_ready("audit")
    assert InboxReceipt.objects.filter(consumer="audit").count() == 1000
    repeated = sum(InboxReceipt.objects.values_list("duplicates", flat=True))
    assert repeated <= 100, "at most what one prefetch had held came again"
    assert other.terminate() == 0


def test_a_prefetch_bounds_what_one_process_holds(run: Run, queues: Queues) -> None:
    queues.publish(*[published(f"article-{number}") for number in range(50)])

    consumer = run.with_handler("sleeping:20", "consume", "audit", "--prefetch", "8")
    consumer.wait_for("at work on")

    queues.await_ready("audit", main=42)


def test_copies_of_a_failing_event_spend_one_budget_between_two_processes(
    run: Run, queues: Queues
) -> None:
    copies, event = 30, published("article-107")
    queues.publish(*[event] * copies)
    workers = [run("consume", "audit", SIMULATE_TEMPORARY="article-107") for _ in range(2)]

    queues.await_ready("audit", seconds=40, dead=copies)

    for worker in workers:
        assert worker.terminate() == 0, worker.report()
    attempts = FailedAttempt.objects.filter(consumer="audit")
    assert sorted(attempts.values_list("attempt", flat=True)) == [0, 1, 2, 3]
