"""Transport order is not the order of facts: the newest known revision wins, whatever came when."""

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging.models import InboxReceipt
from tests.eventually import eventually
from tests.messaging.event_bodies import EVENT_ID
from tests.messaging.facts import published, withdrawn
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once, working


def outcomes(name: str = "catalog") -> dict[int, str]:
    """What the receipts say, by revision."""
    rows = InboxReceipt.objects.filter(consumer=name, names_revision=True)
    return dict(rows.values_list("revision", "outcome"))


def entry() -> tuple[int, bool, str]:
    found = CatalogEntry.objects.get()
    return found.revision, found.visible, found.title


def test_a_revision_that_waited_in_retry_is_stale_when_a_newer_one_was_applied_meanwhile(
    run: Run, long_delay: None, queues: Queues
) -> None:
    queues.publish(published(revision=1, title="First"))
    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))
    queues.await_ready("catalog", retry=1)

    queues.publish(published(revision=2, title="Second"))
    consume_once("catalog")
    assert entry() == (2, True, "Second")
    (copy,) = queues.wire.drain(queues.topology.retry("catalog"))
    # As the broker does when the delay is over.
    queues.send(
        copy.body,
        exchange=queues.topology.resume,
        routing_key="catalog",
        headers=copy.properties.headers,
        message_id=copy.properties.message_id,
    )
    consume_once("catalog")
    assert outcomes() == {1: "stale", 2: "applied"}

    assert entry() == (2, True, "Second")
    queues.await_ready("catalog")


def test_a_withdrawal_that_comes_first_is_not_undone_by_its_publication(
    run: Run, some_delay: None, queues: Queues
) -> None:
    queues.publish(published(revision=1))
    consume_once("catalog", simulate_temporary=frozenset({"article-107"}))
    queues.publish(withdrawn(revision=2))

    with working("catalog"):
        eventually(lambda: outcomes() == {1: "stale", 2: "applied"})

    assert entry() == (2, False, "")


def test_audit_records_in_order_of_arrival_and_finds_nothing_stale(
    run: Run, queues: Queues
) -> None:
    queues.publish(withdrawn(revision=3), published(revision=1), published(revision=2))

    consume_once("audit")

    assert list(AuditRecord.objects.order_by("id").values_list("revision", flat=True)) == [3, 1, 2]
    assert outcomes("audit") == {1: "applied", 2: "applied", 3: "applied"}


def test_a_hole_in_the_revisions_holds_nothing_back(run: Run, queues: Queues) -> None:
    queues.publish(published(revision=1), published(revision=5, title="Fifth"))
    queues.publish(published(revision=2**31), published(revision=2**63 - 1, title="Last"))

    consume_once("catalog")

    assert entry() == (2**63 - 1, True, "Last")
    assert queues.ready("catalog") == {}


def test_of_two_contents_for_one_revision_the_first_stands_and_the_other_is_dead(
    run: Run, queues: Queues
) -> None:
    first, other = published(revision=5, title="First"), published(revision=5, title="Other")
    queues.publish(first, other, other)

    for name in ("catalog", "audit"):
        consume_once(name)

        dead = queues.dead(name)
        assert [(each.body, each.headers["attempt"]) for each in dead] == [(other.body, 0)] * 2
        assert {each.headers["reason"] for each in dead} == {"FactConflict"}
        assert outcomes(name) == {5: "applied"}
    assert entry() == (5, True, "First")
    assert AuditRecord.objects.count() == 1


def test_another_body_under_a_known_id_is_dead_and_changes_nothing(
    run: Run, queues: Queues
) -> None:
    queues.publish(published(revision=1, title="First", eventId=EVENT_ID))
    consume_once("catalog")

    conflict = published(revision=2, title="Second", eventId=EVENT_ID)
    queues.publish(conflict, published(revision=3, title="Third"), attempt=2)
    consume_once("catalog")

    (dead,) = queues.dead("catalog")
    assert dead.body == conflict.body
    assert dead.headers == {"attempt": 2, "reason": "FactConflict", "consumer": "catalog"}
    assert outcomes() == {1: "applied", 3: "applied"}
    assert entry() == (3, True, "Third")


def test_the_same_content_under_a_second_id_is_one_fact_told_twice(
    run: Run, queues: Queues
) -> None:
    queues.publish(published(), published())

    consume_once("catalog")
    consume_once("audit")

    assert queues.ready("catalog") == queues.ready("audit") == {}
    assert CatalogEntry.objects.count() == 1
    assert AuditRecord.objects.count() == 2
