"""SIGKILL at every point between a delivery and its ack: one effect each, and nothing lost."""

from collections import Counter

import pytest

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging.models import FailedAttempt, InboxReceipt
from tests.eventually import eventually
from tests.messaging.event_bodies import as_bytes
from tests.messaging.event_bodies import published as document
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import working

KILLED = -9
EVENTS = [published(f"article-{number}", title=f"Number {number}") for number in range(5)]


def duplicates() -> int:
    return sum(InboxReceipt.objects.values_list("duplicates", flat=True))


def effects(name: str) -> Counter[str]:
    model = CatalogEntry if name == "catalog" else AuditRecord
    return Counter(str(event_id) for event_id in model.objects.values_list("event_id", flat=True))


def assert_all_applied_once(name: str) -> None:
    assert effects(name) == Counter(event.event_id for event in EVENTS)
    assert Counter(
        str(event_id)
        for event_id in InboxReceipt.objects.filter(consumer=name).values_list(
            "event_id", flat=True
        )
    ) == Counter(event.event_id for event in EVENTS)


@pytest.mark.parametrize(
    ("function", "when", "commits"),
    [
        pytest.param(
            "messaging.handling.inbox:handle", "before", False, id="before the transaction"
        ),
        pytest.param(
            "messaging.handling.receipts:insert", "after", False, id="inside the transaction"
        ),
        pytest.param("messaging.handling.inbox:handle", "after", True, id="between commit and ack"),
    ],
)
def test_a_consumer_killed_on_the_way_of_an_effect_repeats_and_loses_nothing(
    run: Run, queues: Queues, function: str, when: str, commits: bool
) -> None:
    queues.publish(*EVENTS)

    killed = run.killed_at(function, "consume", "catalog", when=when)  # type: ignore[arg-type]

    assert killed.wait() == KILLED, killed.report()
    committed = CatalogEntry.objects.count()
    assert bool(committed) == commits
    queues.await_ready("catalog", main=5)
    with working("catalog"):
        eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").count() == 5)
        eventually(lambda: duplicates() == committed)
    assert_all_applied_once("catalog")
    queues.await_ready("catalog")
    queues.await_ready("audit", main=5)


def test_killed_again_and_again_it_gets_there(run: Run, queues: Queues) -> None:
    queues.publish(*EVENTS)

    for round_ in (1, 2):
        killed = run.killed_at(
            "messaging.handling.inbox:handle",
            *("consume", "audit", "--prefetch", "2"),  # one event a transaction
            when="after",
            nth=2,
        )
        assert killed.wait() == KILLED, killed.report()
        # Fewer where an ack had not reached the broker yet, and its event came again.
        assert 2 <= AuditRecord.objects.count() <= 1 + round_

    eventually(lambda: queues.ready("audit").get("main", 0) >= 3)
    with working("audit"):
        eventually(lambda: AuditRecord.objects.count() == 5)
        queues.await_ready("audit")
    assert_all_applied_once("audit")


@pytest.mark.parametrize(
    ("first", "nth", "expected"),
    [
        pytest.param(published("article-1").body, 2, {"main": 1}, id="applied"),
        pytest.param(published("article-107").body, 1, {"main": 1, "retry": 1}, id="retried"),
        pytest.param(b"[]", 1, {"main": 1, "dead": 1}, id="dead"),
    ],
)
def test_what_was_acked_does_not_come_again(
    run: Run, long_delay: None, queues: Queues, first: bytes, nth: int, expected: dict[str, int]
) -> None:
    queues.give("catalog", first, published("article-2").body)

    # With a prefetch of one, the second delivery is the broker's answer to the first ack.
    killed = run.killed_at(
        "messaging.handling.inbox:handle",
        *("consume", "catalog", "--prefetch", "1"),
        when="before",
        nth=nth,
        SIMULATE_TEMPORARY="article-107",
    )

    assert killed.wait() == KILLED, killed.report()
    queues.await_ready("catalog", **expected)
    assert duplicates() == 0


RETRY_POINTS = [
    pytest.param("messaging.handling.attempts:record", "before", 0, 0, 1, id="before counting"),
    pytest.param(
        "messaging.handling.attempts:record", "after", 1, 0, 1, id="between count and copy"
    ),
    pytest.param(
        "messaging.handling.handover:Handover._judge", "after", 1, 1, 1, id="between copy and ack"
    ),
]


@pytest.mark.parametrize(("function", "when", "counted", "copies", "originals"), RETRY_POINTS)
def test_a_consumer_killed_on_the_way_to_a_retry_applies_the_event_once(
    run: Run,
    queues: Queues,
    function: str,
    when: str,
    counted: int,
    copies: int,
    originals: int,
) -> None:
    event = published("article-107")
    queues.publish(event)

    killed = run.killed_at(
        function,
        "consume",
        "catalog",
        when=when,  # type: ignore[arg-type]
        SIMULATE_TEMPORARY="article-107",
    )

    assert killed.wait() == KILLED, killed.report()
    assert FailedAttempt.objects.count() == counted
    eventually(lambda: sum(queues.ready("catalog").values()) == copies + originals)
    with working("catalog"):
        queues.await_ready("catalog")
        eventually(lambda: effects("catalog") == {event.event_id: 1})
        eventually(lambda: duplicates() == copies + originals - 1)
    queues.await_ready("catalog")


def test_crashes_between_count_and_copy_do_not_stretch_the_budget(run: Run, queues: Queues) -> None:
    event = published("article-107")
    queues.publish(event)
    for attempt in range(2):
        killed = run.killed_at(
            "messaging.handling.attempts:record",
            *("consume", "catalog"),
            when="after",
            SIMULATE_TEMPORARY="article-107",
        )
        assert killed.wait() == KILLED, killed.report()
        assert FailedAttempt.objects.count() == attempt + 1

    with working("catalog", simulate_temporary=frozenset({"article-107"})):
        queues.await_ready("catalog", dead=1)

    (dead,) = queues.dead("catalog")
    assert dead.headers["attempt"] == 3
    assert FailedAttempt.objects.count() == 4


@pytest.mark.parametrize(
    ("function", "when", "copies", "originals"),
    [
        pytest.param(
            "messaging.handling.handover:Handover.send", "before", 0, 1, id="before the copy"
        ),
        pytest.param(
            "messaging.handling.handover:Handover._judge", "after", 1, 1, id="between copy and ack"
        ),
    ],
)
def test_a_consumer_killed_on_the_way_to_dead_loses_no_message(
    run: Run, queues: Queues, function: str, when: str, copies: int, originals: int
) -> None:
    body = as_bytes(document(schemaVersion=9))
    queues.give("catalog", body)

    killed = run.killed_at(function, "consume", "catalog", when=when, nth=1)  # type: ignore[arg-type]

    assert killed.wait() == KILLED, killed.report()
    eventually(lambda: sum(queues.ready("catalog").values()) == copies + originals)
    with working("catalog"):
        queues.await_ready("catalog", dead=copies + originals)
    assert {message.body for message in queues.dead("catalog")} == {body}
    assert InboxReceipt.objects.count() == 0


@pytest.mark.parametrize(
    ("function", "when"),
    [
        pytest.param(
            "messaging.handling.inbox:handle", "before", id="before the neighbours' transaction"
        ),
        pytest.param("messaging.handling.inbox:handle", "after", id="after their commit"),
        pytest.param(
            "messaging.handling.handover:Handover._judge", "after", id="after the confirm"
        ),
    ],
)
def test_a_consumer_killed_while_a_copy_is_under_way_loses_neither_it_nor_its_neighbours(
    run: Run, queues: Queues, function: str, when: str
) -> None:
    body = as_bytes(document(schemaVersion=9))
    queues.publish(EVENTS[0])
    queues.give("catalog", body)
    queues.publish(*EVENTS[1:])

    killed = run.killed_at(function, "consume", "catalog", when=when)  # type: ignore[arg-type]

    assert killed.wait() == KILLED, killed.report()
    eventually(lambda: queues.ready("catalog").get("main", 0) >= 5)
    with working("catalog"):
        # What has left its queue may still be in hand.
        eventually(lambda: len(effects("catalog")) == len(EVENTS))
        eventually(lambda: queues.ready("catalog").get("dead", 0) > 0)
        eventually(lambda: "main" not in queues.ready("catalog"))
    assert_all_applied_once("catalog")
    copies = queues.dead("catalog")
    assert {message.body for message in copies} == {body}
    assert len(copies) <= 2
