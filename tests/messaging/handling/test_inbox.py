"""The inbox: receipts and effects in one transaction, whatever is repeated, mixed up or raced."""

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging import registry
from messaging.envelope import Event
from messaging.errors import FactConflict, OutageError
from messaging.handling import inbox
from messaging.models import InboxReceipt
from messaging.registry import Outcome
from tests.messaging.at_once import at_once
from tests.messaging.facts import published, withdrawn

APPLIED, DUPLICATE, STALE = Outcome.APPLIED, Outcome.DUPLICATE, Outcome.STALE
AN_ID = "0190a6f0-0000-7000-8000-00000000000a"

one_transaction = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)


def handle(name: str, *events: Event) -> list[object]:
    """The outcomes, a conflict by its class."""
    outcomes = inbox.handle(registry.consumer(name), events)
    return [FactConflict if isinstance(each, FactConflict) else each for each in outcomes]


def receipts(name: str) -> dict[str, tuple[str, int]]:
    """By event id: the outcome kept, and how many duplicates came."""
    rows = InboxReceipt.objects.filter(consumer=name)
    return {str(row.event_id): (row.outcome, row.duplicates) for row in rows}


def titles() -> dict[str, tuple[int, str]]:
    return {each.material_id: (each.revision, each.title) for each in CatalogEntry.objects.all()}


@one_transaction
def test_a_new_event_is_applied_and_leaves_a_receipt() -> None:
    event = published("article-107", 3, title="Third")

    outcomes = handle("catalog", event)

    assert outcomes == [APPLIED]
    receipt = InboxReceipt.objects.get()
    assert (receipt.consumer, str(receipt.event_id)) == ("catalog", event.event_id)
    assert (receipt.type, receipt.material_id, receipt.revision) == (event.type, "article-107", 3)
    assert (receipt.outcome, receipt.duplicates, receipt.names_revision) == ("applied", 0, True)
    assert bytes(receipt.fingerprint) == event.fingerprint
    assert bytes(receipt.content_fingerprint) == event.content_fingerprint
    assert receipt.handled_at is not None
    assert titles() == {"article-107": (3, "Third")}


@one_transaction
def test_nothing_to_handle_is_nothing() -> None:
    assert handle("catalog") == []
    assert receipts("catalog") == {}


@one_transaction
def test_a_repetition_is_a_duplicate_and_is_counted() -> None:
    event = published()
    handle("audit", event)

    outcomes = [handle("audit", event) for _ in range(3)]

    assert outcomes == [[DUPLICATE]] * 3
    assert receipts("audit") == {event.event_id: ("applied", 3)}
    assert AuditRecord.objects.count() == 1


@one_transaction
def test_repetitions_within_a_batch_are_duplicates() -> None:
    event, other = published(revision=1), published(revision=2)

    outcomes = handle("audit", event, event, other, event)

    assert outcomes == [APPLIED, DUPLICATE, APPLIED, DUPLICATE]
    assert receipts("audit") == {
        event.event_id: ("applied", 2),
        other.event_id: ("applied", 0),
    }


@one_transaction
def test_a_stale_event_that_comes_again_is_a_duplicate() -> None:
    old = published(revision=1)
    handle("catalog", published(revision=2), old)

    outcomes = handle("catalog", old)

    assert outcomes == [DUPLICATE]
    assert receipts("catalog")[old.event_id] == ("stale", 1)


@one_transaction
def test_each_consumer_has_receipts_of_its_own() -> None:
    event = published()

    outcomes = [handle("catalog", event), handle("audit", event)]

    assert outcomes == [[APPLIED], [APPLIED]]
    assert CatalogEntry.objects.count() == AuditRecord.objects.count() == 1


@one_transaction
def test_white_space_and_key_order_do_not_make_another_fact() -> None:
    event = published()
    shuffled = dict(reversed(event.document.items()))
    from messaging.envelope import decode
    from tests.messaging.event_bodies import TYPES, as_bytes

    handle("audit", event)
    outcomes = handle("audit", decode(as_bytes(shuffled).replace(b": ", b" : "), TYPES))

    assert outcomes == [DUPLICATE]


@one_transaction
@pytest.mark.parametrize("name", ["catalog", "audit"])
@pytest.mark.parametrize(
    "other",
    [
        published("article-107", 1, title="Another", eventId=AN_ID),
        published("article-107", 2, eventId=AN_ID),
        published("article-108", 1, eventId=AN_ID),
        withdrawn("article-107", 1, eventId=AN_ID),
        published("article-107", 1, eventId=AN_ID, note="one more field"),
    ],
    ids=["title", "revision", "material", "type", "extra field"],
)
@pytest.mark.parametrize("together", [True, False])
def test_another_body_under_one_id_is_a_conflict_and_changes_nothing(
    name: str, other: Event, together: bool
) -> None:
    first = published("article-107", 1, eventId=AN_ID)

    batches = [(first, other)] if together else [(first,), (other,)]
    outcomes = [outcome for batch in batches for outcome in handle(name, *batch)]

    assert outcomes == [APPLIED, FactConflict]
    assert receipts(name) == {AN_ID: ("applied", 0)}
    if name == "catalog":
        assert titles() == {"article-107": (1, "A title")}
    else:
        assert AuditRecord.objects.get().envelope.encode() == first.body


@one_transaction
@pytest.mark.parametrize("name", ["catalog", "audit"])
@pytest.mark.parametrize("together", [True, False])
def test_another_content_of_one_revision_is_a_conflict(name: str, together: bool) -> None:
    first, other = published(title="First"), published(title="Other")

    batches = [(first, other)] if together else [(first,), (other,)]
    outcomes = [outcome for batch in batches for outcome in handle(name, *batch)]

    assert outcomes == [APPLIED, FactConflict]
    assert receipts(name) == {first.event_id: ("applied", 0)}


@one_transaction
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("name", "outcome", "records"), [("catalog", STALE, 0), ("audit", APPLIED, 2)]
)
def test_the_same_content_under_a_second_id_is_stale_for_catalog_and_recorded_by_audit(
    name: str, outcome: Outcome, records: int, together: bool
) -> None:
    first = published(occurredAt="2026-01-02T03:04:05Z")
    twin = published(occurredAt="2026-01-02T03:04:06Z")

    batches = [(first, twin)] if together else [(first,), (twin,)]
    outcomes = [outcome for batch in batches for outcome in handle(name, *batch)]

    assert outcomes == [APPLIED, outcome]
    assert receipts(name)[first.event_id] == ("applied", 0)
    assert receipts(name)[twin.event_id] == (outcome, 0)
    assert handle(name, twin, first) == [DUPLICATE, DUPLICATE]
    assert AuditRecord.objects.count() == records
    third = published(title="Other")
    assert handle(name, third) == [FactConflict]


@one_transaction
def test_a_conflict_does_not_hold_back_its_neighbours() -> None:
    handle("catalog", published("article-1", 1, title="First"))

    outcomes = handle(
        "catalog",
        published("article-2", 1),
        published("article-1", 1, title="Other"),
        published("article-1", 2, title="Second"),
    )

    assert outcomes == [APPLIED, FactConflict, APPLIED]
    assert titles() == {"article-1": (2, "Second"), "article-2": (1, "A title")}


@one_transaction
def test_a_fact_is_new_when_the_one_in_its_way_was_refused() -> None:
    handle("audit", published("article-1", 1, eventId=AN_ID))

    outcomes = handle(
        "audit",
        published("article-2", 1, eventId=AN_ID),
        published("article-2", 1, title="The first of article-2"),
    )

    assert outcomes == [FactConflict, APPLIED]


@one_transaction
def test_a_hole_in_the_revisions_holds_nothing_back() -> None:
    assert handle("catalog", published(revision=1), published(revision=5, title="Fifth")) == [
        APPLIED,
        APPLIED,
    ]
    assert titles() == {"article-107": (5, "Fifth")}


@one_transaction
def test_a_withdrawal_is_not_undone_by_the_publication_before_it() -> None:
    assert handle("catalog", withdrawn(revision=2), published(revision=1)) == [APPLIED, STALE]
    assert not CatalogEntry.objects.get().visible


@one_transaction
def test_revisions_of_64_bits_are_kept() -> None:
    newest = published(revision=2**63 - 1)

    assert handle("catalog", newest, published(revision=2**31)) == [APPLIED, STALE]
    assert handle("audit", newest, published(revision=2**31)) == [APPLIED, APPLIED]


@committed
def test_when_the_handler_fails_nothing_of_the_batch_is_kept() -> None:
    known, new = published("article-1"), published("article-2")
    handle("audit", known)

    def apply(events: Sequence[Event], using: str) -> set[str]:
        registry.consumer("audit").apply(events, using)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        inbox.handle(replace(registry.consumer("audit"), apply=apply), [known, new])

    assert receipts("audit") == {known.event_id: ("applied", 0)}
    assert AuditRecord.objects.count() == 1


@committed
def test_a_transaction_that_cannot_begin_is_no_fault_of_any_event() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite can refuse to begin a transaction on an open connection")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 50")
    locked, done = threading.Event(), threading.Event()

    def hold_the_lock() -> None:
        with transaction.atomic():
            locked.set()
            done.wait(20)
        connection.close()

    with ThreadPoolExecutor() as pool:
        holder = pool.submit(hold_the_lock)
        try:
            assert locked.wait(20)
            with pytest.raises(OutageError):
                handle("audit", published())
        finally:
            done.set()
        holder.result(20)
    connection.close()

    assert receipts("audit") == {}


@committed
@pytest.mark.parametrize("name", ["catalog", "audit"])
def test_of_two_that_race_with_one_event_exactly_one_applies_it(name: str) -> None:
    event = published()

    all_outcomes = at_once(lambda: handle(name, event), times=4)

    assert Counter(each for outcomes in all_outcomes for each in outcomes) == {
        APPLIED: 1,
        DUPLICATE: 3,
    }
    assert receipts(name) == {event.event_id: ("applied", 3)}


@committed
@pytest.mark.parametrize("name", ["catalog", "audit"])
def test_of_two_that_race_with_two_contents_of_one_revision_one_is_a_conflict(name: str) -> None:
    facts = iter([published(title="One"), published(title="Two")])
    mine = {}

    def handle_mine() -> list[object]:
        mine[threading.get_ident()] = fact = next(facts)
        return handle(name, fact)

    all_outcomes = at_once(handle_mine, times=2)

    assert Counter(each for outcomes in all_outcomes for each in outcomes) == {
        APPLIED: 1,
        FactConflict: 1,
    }
    assert len(receipts(name)) == 1


@committed
def test_of_two_that_race_with_twins_both_are_accounted_for() -> None:
    twins = [published(), published()]
    left = iter(twins)

    all_outcomes = at_once(lambda: handle("catalog", next(left)), times=2)

    assert Counter(each for outcomes in all_outcomes for each in outcomes) == {APPLIED: 1, STALE: 1}
    assert receipts("catalog").keys() == {twin.event_id for twin in twins}


@committed
def test_batches_that_race_in_opposite_orders_apply_every_event_once() -> None:
    events = [published(f"article-{number}", 1) for number in range(60)]
    orders = iter([events, events[::-1], events[30:] + events[:30]])

    all_outcomes = at_once(lambda: handle("audit", *next(orders)), times=3)

    assert Counter(each for outcomes in all_outcomes for each in outcomes) == {
        APPLIED: 60,
        DUPLICATE: 120,
    }
    assert AuditRecord.objects.count() == 60
    assert set(receipts("audit").values()) == {("applied", 2)}


@committed
def test_a_handler_that_waits_is_waited_for_by_the_other_with_the_same_event() -> None:
    event = published()
    inside = threading.Barrier(2, timeout=20)
    entered: list[str] = []

    def apply(events: Sequence[Event], using: str) -> set[str]:
        entered.append("once")
        if connection.vendor == "postgresql":
            inside.wait()
        return registry.consumer("audit").apply(events, using)

    slow = replace(registry.consumer("audit"), apply=apply)

    def other() -> list[object]:
        if connection.vendor == "postgresql":
            inside.wait()
        return list(inbox.handle(slow, [event]))

    all_outcomes = at_once(lambda: list(inbox.handle(slow, [event])), other)

    assert Counter(each for outcomes in all_outcomes for each in outcomes) == {
        APPLIED: 1,
        DUPLICATE: 1,
    }
    assert entered == ["once"]


@dataclass
class OneByOne:
    """What handling the events one after another, alone in the world, must give."""

    consumer: str
    fingerprints: dict[str, bytes] = field(default_factory=dict)
    contents: dict[tuple[str, int], bytes] = field(default_factory=dict)
    newest: dict[str, Event] = field(default_factory=dict)
    recorded: list[str] = field(default_factory=list)
    duplicates: Counter[str] = field(default_factory=Counter)

    def handle(self, event: Event) -> object:
        known = self.fingerprints.get(event.event_id)
        if known is not None:
            if known != event.fingerprint:
                return FactConflict
            self.duplicates[event.event_id] += 1
            return DUPLICATE
        name = (event.material_id, event.revision)
        if self.contents.setdefault(name, event.content_fingerprint) != event.content_fingerprint:
            return FactConflict
        self.fingerprints[event.event_id] = event.fingerprint
        if self.consumer == "audit":
            self.recorded.append(event.event_id)
            return APPLIED
        newest = self.newest.get(event.material_id)
        if newest is not None and newest.revision >= event.revision:
            return STALE
        self.newest[event.material_id] = event
        return APPLIED


_ids = st.integers(0, 5).map(lambda number: str(uuid.UUID(int=number, version=4)))
_events = st.builds(
    lambda make, material, revision, event_id: make(material, revision, eventId=event_id),
    st.sampled_from(
        [published, withdrawn, lambda *args, **ids: published(*args, title="Other", **ids)]
    ),
    st.sampled_from(["a", "b"]),
    st.integers(1, 3),
    _ids,
)


@one_transaction
@pytest.mark.parametrize("name", ["catalog", "audit"])
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.lists(_events, max_size=7), max_size=4))
def test_batches_give_what_one_by_one_would_give(name: str, batches: list[list[Event]]) -> None:
    model = OneByOne(name)
    with transaction.atomic():
        for batch in batches:
            assert handle(name, *batch) == [model.handle(event) for event in batch]

        assert {event_id: times for event_id, (_, times) in receipts(name).items()} == {
            event_id: model.duplicates[event_id] for event_id in model.fingerprints
        }
        assert {str(row.event_id) for row in CatalogEntry.objects.all()} == {
            event.event_id for event in model.newest.values()
        }
        assert [str(row.event_id) for row in AuditRecord.objects.order_by("id")] == model.recorded
        transaction.set_rollback(True)


@one_transaction
def test_hundreds_of_repetitions_cost_a_handful_of_statements(
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    events = [published(f"article-{number}") for number in range(300)]
    handle("catalog", *events)

    with django_assert_max_num_queries(8):  # type: ignore[attr-defined]
        outcomes = handle("catalog", *events)

    assert outcomes == [DUPLICATE] * 300
