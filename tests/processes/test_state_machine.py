"""Any mixture of publishing, repeating, reordering, delay, failure and crash ends in one truth.

The real worker, inbox and projections on the suite's database, over a broker in memory.
"""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from materials.events import PUBLISHED
from messaging import registry
from messaging.broker.topology import Topology
from messaging.envelope import Event
from messaging.models import FailedAttempt, InboxReceipt
from tests.messaging.facts import published, withdrawn
from tests.processes.model_broker import Crash, Letter, ModelBroker

NAMES = ("audit", "catalog")
MATERIALS = ("article-1", "article-2")
CRASHES = (
    "",
    "",
    "inside the transaction",
    "between commit and ack",
    "before the copy",
    "between copy and ack",
    "after the ack",
)
TOPOLOGY = Topology("model", "classic", 300, registry.consumers())

names = st.sampled_from(NAMES)
materials = st.sampled_from(MATERIALS)
positions = st.integers(0, 30)


class Delivery(RuleBasedStateMachine):
    """Facts are made here; what became of each is asked of queues and database."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = ModelBroker(TOPOLOGY)
        self.sent: dict[bytes, Event] = {}
        self.newest: dict[str, Event] = {}
        self.unreadable: Counter[str] = Counter()
        for material in MATERIALS:
            self.publish(material, "a")
            self.publish(material, "b")

    # What the source does, and what a faulty one would.

    @rule(material=materials, title=st.text("ab", max_size=3))
    def publish(self, material: str, title: str) -> None:
        self._send(published(material, self._next_revision(material), title=f"T{title}"))

    @rule(material=materials)
    def withdraw(self, material: str) -> None:
        self._send(withdrawn(material, self._next_revision(material)))

    @precondition(lambda self: self.newest)
    @rule(position=positions, same_id=st.booleans())
    def contradict(self, position: int, same_id: bool) -> None:
        """Another content for a known fact: whichever arrives first stands."""
        known = self._known(position)
        ids = {"eventId": known.event_id} if same_id else {}
        self._send(published(known.material_id, known.revision, title="Other", **ids))

    @precondition(lambda self: self.newest)
    @rule(position=positions)
    def say_again_under_another_id(self, position: int) -> None:
        known = self._known(position)
        if known.type == PUBLISHED:
            self._send(published(known.material_id, known.revision, title=known.data.title))

    @rule(name=names, attempt=st.integers(0, 3))
    def send_something_unreadable(self, name: str, attempt: int) -> None:
        self.broker.queues[TOPOLOGY.main(name)].append(Letter(b"?", {"attempt": attempt}))
        self.unreadable[name] += 1

    # What the network does.

    @precondition(lambda self: self.newest)
    @rule(name=names, position=positions, attempt=st.integers(0, 3))
    def repeat(self, name: str, position: int, attempt: int) -> None:
        again = _letter(self._known(position), attempt=attempt)
        self.broker.queues[TOPOLOGY.main(name)].append(again)

    @rule(name=names, position=positions, to=positions)
    def reorder(self, name: str, position: int, to: int) -> None:
        queue = self.broker.queues[TOPOLOGY.main(name)]
        if queue:
            letter = queue.pop(position % len(queue))
            queue.insert(to % (len(queue) + 1), letter)

    @rule(name=names, position=positions)
    def delay(self, name: str, position: int) -> None:
        """As if it had failed once, in a process that could not count it."""
        queue = self.broker.queues[TOPOLOGY.main(name)]
        if queue:
            self.broker.queues[TOPOLOGY.retry(name)].append(queue.pop(position % len(queue)))

    @rule(name=names, count=positions)
    def let_delays_pass(self, name: str, count: int) -> None:
        retry = self.broker.queues[TOPOLOGY.retry(name)]
        self.broker.queues[TOPOLOGY.main(name)] += retry[:count]
        del retry[:count]

    # What the consumers do.

    @rule(name=names, prefetch=st.sampled_from([1, 4, 100]))
    def consume_in_peace(self, name: str, prefetch: int) -> None:
        self.consume(name, prefetch, "", set(), set(), full=False)

    @rule(
        name=names,
        prefetch=st.sampled_from([1, 4, 100]),
        crash=st.sampled_from(CRASHES),
        failing=st.sets(materials, max_size=1),
        simulated=st.sets(materials, max_size=1),
        full=st.booleans(),
    )
    def consume(
        self,
        name: str,
        prefetch: int,
        crash: str,
        failing: set[str],
        simulated: set[str],
        full: bool,
    ) -> None:
        real = registry.consumer(name).apply

        def apply(events: Sequence[Event], using: str) -> set[str]:
            stale = real(events, using)
            if crash == "inside the transaction":
                raise Crash
            if any(event.material_id in failing for event in events):
                raise RuntimeError("not now")
            return stale

        self.broker.consume(
            name,
            apply=apply,
            prefetch=prefetch,
            simulate_temporary=simulated,
            crash=crash,
            full=[TOPOLOGY.retry(name), TOPOLOGY.dead(name)] if full else [],
        )

    # What must hold at any moment.

    @invariant()
    def no_fact_is_unaccounted_for(self) -> None:
        for name in NAMES:
            held = {
                letter.body
                for queue in (TOPOLOGY.main(name), TOPOLOGY.retry(name), TOPOLOGY.dead(name))
                for letter in self.broker.queues[queue]
            }
            handled = {event.body for event in self._handled(name)}
            assert not self.sent.keys() - held - handled, f"{name} lost something"

    @invariant()
    def the_audit_holds_what_it_handled_exactly_once(self) -> None:
        recorded = Counter(AuditRecord.objects.values_list("envelope", flat=True))
        assert recorded == Counter(event.body.decode() for event in self._handled("audit"))

    @invariant()
    def the_catalog_is_the_newest_it_handled(self) -> None:
        expected: dict[str, Event] = {}
        for event in self._handled("catalog"):
            best = expected.get(event.material_id)
            if best is None or best.revision < event.revision:
                expected[event.material_id] = event
        assert {
            (entry.material_id, entry.revision, entry.visible, entry.title)
            for entry in CatalogEntry.objects.all()
        } == {
            (
                event.material_id,
                event.revision,
                event.type == PUBLISHED,
                getattr(event.data, "title", ""),
            )
            for event in expected.values()
        }

    @invariant()
    def no_budget_is_exceeded(self) -> None:
        transient = FailedAttempt.objects.filter(transient=True)  # the others spend nothing
        spent = Counter(transient.values_list("consumer", "event_id"))
        assert all(count <= 4 for count in spent.values())
        for queue in self.broker.queues.values():
            assert all(0 <= letter.headers["attempt"] <= 3 for letter in queue)

    def teardown(self) -> None:
        try:
            self._let_everything_pass()
        finally:
            for model in (InboxReceipt, FailedAttempt, AuditRecord, CatalogEntry):
                model.objects.all().delete()

    def _let_everything_pass(self) -> None:
        for name in NAMES:
            for _ in range(6):
                self.let_delays_pass(name, 10**6)
                self.consume(name, 100, "", set(), set(), full=False)
            assert not self.broker.queues[TOPOLOGY.main(name)]
            assert not self.broker.queues[TOPOLOGY.retry(name)]
            dead = self.broker.queues[TOPOLOGY.dead(name)]
            assert sum(letter.body == b"?" for letter in dead) >= self.unreadable[name]
        self.no_fact_is_unaccounted_for()
        self.the_audit_holds_what_it_handled_exactly_once()
        self.the_catalog_is_the_newest_it_handled()

    def _send(self, event: Event) -> None:
        self.sent[event.body] = event
        self.newest.setdefault(event.material_id, event)
        if self.newest[event.material_id].revision < event.revision:
            self.newest[event.material_id] = event
        for name in NAMES:
            self.broker.queues[TOPOLOGY.main(name)].append(_letter(event))

    def _next_revision(self, material: str) -> int:
        known = self.newest.get(material)
        return 1 if known is None else known.revision + 1

    def _known(self, position: int) -> Event:
        events = list(self.sent.values())
        return events[position % len(events)]

    def _handled(self, name: str) -> list[Event]:
        receipts = InboxReceipt.objects.filter(consumer=name)
        by_fingerprint = {event.fingerprint: event for event in self.sent.values()}
        fingerprints = receipts.values_list("fingerprint", flat=True)
        return [by_fingerprint[bytes(fingerprint)] for fingerprint in fingerprints]


def _letter(event: Event, attempt: int = 0) -> Letter:
    return Letter(event.body, {"attempt": attempt}, event.event_id, event.type)


@pytest.mark.django_db(transaction=True)
def test_whatever_happens_every_fact_has_one_effect_and_the_newest_wins() -> None:
    run_state_machine_as_test(
        Delivery,
        settings=settings(
            max_examples=30,
            stateful_step_count=20,
            deadline=None,
            # Without shrinking: it takes minutes. To see the shortest way, add Phase.shrink.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
