"""The ledger of confirms, against every order in which a broker may speak."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messaging.broker.confirms import Batch, Ledger, Result, Route, Verdict

pytestmark = pytest.mark.any_database

LOST = Result(Verdict.UNKNOWN, "lost")
CONFIRMED, RETURNED, NACKED = Verdict.CONFIRMED, Verdict.RETURNED, Verdict.NACKED


def route(number: int) -> Route:
    return (f"id-{number}", "events", "material.published")


def a_batch(*routes: Route) -> Batch:
    return Batch(routes or [route(1)])


def verdicts(batch: Batch) -> list[Verdict | None]:
    return [result.verdict if result else None for result in batch.known()]


def sent(ledger: Ledger, batch: Batch) -> list[int]:
    return [ledger.sent(batch, index) for index in range(len(batch.routes))]


@dataclass
class Sent:
    """One message on its way, and what the broker will do with it."""

    batch: Batch
    index: int
    tag: int
    fate: Verdict
    is_open: bool = True


@dataclass
class Broker:
    """Says everything it has to say of the open messages, in an order of the test's choice."""

    ledger: Ledger
    messages: list[Sent] = field(default_factory=list)
    completions: int = 0

    def take(self, batch: Batch, fates: Sequence[Verdict]) -> None:
        for index, fate in enumerate(fates):
            tag = self.ledger.sent(batch, index)
            self.messages.append(Sent(batch, index, tag, fate))

    @property
    def open(self) -> list[Sent]:
        return [message for message in self.messages if message.is_open]

    def confirm(self, last: Sent, *, multiple: bool) -> None:
        covered = [m for m in self.open if m.tag <= last.tag] if multiple else [last]
        if len({m.fate is NACKED for m in covered}) > 1:
            covered, multiple = [last], False  # one frame is an ack or a nack
        for message in covered:
            message.is_open = False
            if message.fate is RETURNED:  # always before its confirm
                self.ledger.returned(message.batch.routes[message.index], "312 NO_ROUTE")
        self.completions += self.ledger.confirmed(
            last.tag, multiple=multiple, positive=last.fate is not NACKED
        )


FATES = st.sampled_from([CONFIRMED, CONFIRMED, RETURNED, NACKED])
BATCHES = st.lists(st.lists(FATES, min_size=1, max_size=8), min_size=1, max_size=5)


@given(fates=BATCHES, data=st.data())
def test_every_message_gets_the_result_of_its_own_whatever_the_order(
    fates: list[list[Verdict]], data: st.DataObject
) -> None:
    broker, batches, number = Broker(Ledger()), [], 0
    for each in fates:
        batches.append(Batch([route(number + index) for index in range(len(each))]))
        number += len(each)
        broker.take(batches[-1], each)
        while broker.open and data.draw(st.booleans()):
            _speak(broker, data)
    while broker.open:
        _speak(broker, data)

    assert [verdicts(batch) for batch in batches] == fates
    assert all(batch.done for batch in batches)
    assert 1 <= broker.completions <= len(batches)  # one confirm may complete several
    _keeps_nothing(broker.ledger)


@given(fates=BATCHES, data=st.data())
def test_what_is_not_confirmed_when_the_channel_is_lost_has_the_result_of_the_loss(
    fates: list[list[Verdict]], data: st.DataObject
) -> None:
    broker, batches, number = Broker(Ledger()), [], 0
    for each in fates:
        batches.append(Batch([route(number + index) for index in range(len(each))]))
        number += len(each)
        broker.take(batches[-1], each)
    for _ in range(data.draw(st.integers(0, number - 1))):
        if broker.open:
            _speak(broker, data)
    spoken = [[not m.is_open for m in broker.messages if m.batch is batch] for batch in batches]

    broker.ledger.lost(LOST)

    for batch, own_fates, told in zip(batches, fates, spoken, strict=True):
        expected = [
            fate if was_told else Verdict.UNKNOWN
            for fate, was_told in zip(own_fates, told, strict=True)
        ]
        assert verdicts(batch) == expected
        assert batch.done
    _keeps_nothing(broker.ledger)


@given(fates=st.lists(st.tuples(st.integers(0, 1), FATES), min_size=1, max_size=12), data=st.data())
def test_of_equal_messages_none_that_came_back_is_taken_for_confirmed(
    fates: list[tuple[int, Verdict]], data: st.DataObject
) -> None:
    batch = Batch([route(which) for which, _ in fates])
    broker = Broker(Ledger())
    broker.take(batch, [fate for _, fate in fates])
    while broker.open:
        _speak(broker, data)

    returned = {which for which, fate in fates if fate is RETURNED}
    for (which, fate), verdict in zip(fates, verdicts(batch), strict=True):
        assert verdict in ({fate, RETURNED} if which in returned else {fate})
    _keeps_nothing(broker.ledger)


def test_an_ack_alone_is_no_success_when_the_message_was_returned() -> None:
    ledger, batch = Ledger(), a_batch()
    (tag,) = sent(ledger, batch)

    ledger.returned(route(1), "312 NO_ROUTE")
    completed = ledger.confirmed(tag, multiple=False, positive=True)

    assert completed
    assert batch.results == [Result(RETURNED, "312 NO_ROUTE")]


def test_a_range_covers_what_was_passed_over_and_not_what_is_settled() -> None:
    ledger, batch = Ledger(), a_batch(*map(route, range(4)))
    tags = sent(ledger, batch)

    ledger.confirmed(tags[1], multiple=False, positive=False)
    ledger.confirmed(tags[2], multiple=True, positive=True)

    assert verdicts(batch) == [CONFIRMED, NACKED, CONFIRMED, None]
    assert not batch.done


@pytest.mark.parametrize("tag", [0, 1, 2, 99])
def test_a_confirm_for_what_is_not_open_changes_nothing(tag: int) -> None:
    ledger, batch = Ledger(), a_batch()
    (own,) = sent(ledger, batch)
    ledger.confirmed(own, multiple=False, positive=True)

    completed = ledger.confirmed(tag, multiple=False, positive=False)

    assert not completed
    assert verdicts(batch) == [CONFIRMED]


def test_a_return_of_what_was_never_sent_blames_nobody() -> None:
    ledger, batch = Ledger(), a_batch()
    (tag,) = sent(ledger, batch)

    ledger.returned(("another", "events", "key"), "312 NO_ROUTE")
    ledger.confirmed(tag, multiple=False, positive=True)

    assert verdicts(batch) == [CONFIRMED]


def test_the_first_result_of_a_message_stands() -> None:
    batch = a_batch()

    batch.settle(0, Result(Verdict.UNENCODABLE))
    batch.settle_rest(LOST)

    assert verdicts(batch) == [Verdict.UNENCODABLE]


def test_a_message_that_never_left_is_settled_beside_those_that_did() -> None:
    ledger, batch = Ledger(), a_batch(route(1), route(2))
    batch.settle(0, Result(Verdict.UNENCODABLE))
    tag = ledger.sent(batch, 1)

    completed = ledger.confirmed(tag, multiple=True, positive=True)

    assert completed
    assert verdicts(batch) == [Verdict.UNENCODABLE, CONFIRMED]


def _speak(broker: Broker, data: st.DataObject) -> None:
    broker.confirm(data.draw(st.sampled_from(broker.open)), multiple=data.draw(st.booleans()))


def _keeps_nothing(ledger: Ledger) -> None:
    left = {name: value for name, value in vars(ledger).items() if name != "_last_tag"}
    assert not any(left.values()), left


def test_a_batch_is_done_once_the_queues_that_have_to_stand_were_seen_behind_it() -> None:
    ledger, batch = Ledger(), Batch([route(1), route(2)], standing=["catalog", "audit"])
    sent(ledger, batch)
    ledger.looked(batch)

    completed = [
        ledger.confirmed(2, multiple=True, positive=True),
        ledger.seen(),
        ledger.seen(),  # an answer to somebody else's question
    ]

    assert completed == [False, True, False]
    assert verdicts(batch) == [CONFIRMED, CONFIRMED]


def test_what_was_confirmed_before_a_look_that_was_never_answered_is_not_known() -> None:
    ledger = Ledger()
    seen, unseen = (Batch([route(1), route(2)], standing=["catalog"]) for _ in range(2))
    for batch in (seen, unseen):
        sent(ledger, batch)
        ledger.looked(batch)
    ledger.confirmed(2, multiple=True, positive=True)
    ledger.seen()
    ledger.confirmed(3, multiple=False, positive=False)
    ledger.confirmed(4, multiple=False, positive=True)
    before = verdicts(unseen), unseen.done

    ledger.lost(LOST)

    assert before == ([NACKED, Verdict.UNKNOWN], False)
    assert verdicts(seen) == [CONFIRMED, CONFIRMED]
    assert verdicts(unseen) == [NACKED, Verdict.UNKNOWN]
    assert unseen.done
