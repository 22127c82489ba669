"""How much bulk goes to the queues, reckoned against consumers that are simulated."""

import random

import pytest

from messaging.sending import bulk_pace
from messaging.sending.bulk_pace import BulkPace

pytestmark = pytest.mark.any_database

TURN_SECONDS = 0.05
MOST_A_TURN = 500


class House:
    """A relay that sends as much as it may, and queues that are emptied at some pace."""

    def __init__(self, **rates: float) -> None:
        self.now = 100.0
        self.rates = rates
        self.ready = dict.fromkeys(rates, 0.0)
        self.deepest = dict.fromkeys(rates, 0.0)
        self.sent = 0
        self.pace = BulkPace(clock=lambda: self.now)
        self._chance = random.Random(random.random())  # pytest-randomly tells its seed

    def run(self, seconds: float, *, answers: bool = True) -> int:
        """Let time pass; how many rows went meanwhile."""
        sent_before = self.sent
        self.deepest = dict(self.ready)
        until = self.now + seconds
        while self.now < until:
            if self.pace.wants_look() and answers:
                self.pace.saw({name: int(lay) for name, lay in self.ready.items()})
            room = self.pace.room(in_flight=0)
            going = MOST_A_TURN if room is None else min(room, MOST_A_TURN)
            self.sent += going
            self.pace.confirmed(going)
            for name, rate in self.rates.items():
                taken = rate * TURN_SECONDS * self._chance.uniform(0.5, 1.5)
                self.deepest[name] = max(self.deepest[name], self.ready[name] + going)
                self.ready[name] = max(0.0, self.ready[name] + going - taken)
            self.now += TURN_SECONDS
        return self.sent - sent_before


@pytest.mark.parametrize("rate", [300, 2000, 6000])
def test_queues_hold_little_and_consumers_are_kept_busy(rate: int) -> None:
    house = House(catalog=rate, audit=rate * 1.5)
    house.run(10)

    went = house.run(20)

    assert went == pytest.approx(20 * rate, rel=0.15)
    assert house.deepest["catalog"] <= max(bulk_pace.LEAST_ROWS, rate) + 1


def test_a_consumer_that_becomes_slower_is_soon_known_to_be() -> None:
    house = House(catalog=6000, audit=6000)
    house.run(10)

    house.rates["catalog"] = 1000
    house.run(10)
    house.run(5)

    assert house.deepest["catalog"] <= 1000


def test_nothing_goes_before_the_first_look() -> None:
    assert BulkPace().room(in_flight=0) == 0


def test_a_consumer_that_stops_is_waited_for_a_few_seconds_and_slows_no_other() -> None:
    house = House(catalog=3000, audit=4000)
    house.run(10)

    house.rates["catalog"] = 0
    house.run(bulk_pace.STANDSTILL_SECONDS + 1)
    went = house.run(10)

    assert went == pytest.approx(10 * 4000, rel=0.15)


def test_one_that_is_far_slower_slows_no_other_and_one_that_comes_back_is_waited_for() -> None:
    house = House(catalog=3000, audit=20)
    house.run(15)
    assert house.run(10) == pytest.approx(10 * 3000, rel=0.15)

    house.rates["audit"] = 4000
    house.run(60)

    assert house.ready["audit"] <= 4000
    assert house.run(10) == pytest.approx(10 * 3000, rel=0.15)


def test_where_nobody_takes_anything_bulk_goes_out_all_the_same() -> None:
    house = House(catalog=0, audit=0)

    house.run(bulk_pace.STANDSTILL_SECONDS + 1)

    assert house.pace.room(in_flight=0) is None


def test_a_queue_that_is_missing_or_a_look_without_an_answer_holds_nothing_back() -> None:
    missing = House()
    missing.run(1)
    unanswered = House(catalog=100)
    unanswered.run(bulk_pace.PATIENCE_SECONDS + 1, answers=False)

    assert missing.pace.room(in_flight=0) is None
    assert unanswered.pace.room(in_flight=0) is None


def test_what_is_still_under_way_counts_as_being_there() -> None:
    house = House(catalog=0)
    house.run(TURN_SECONDS)
    room = house.pace.room(in_flight=0)

    assert room is not None
    assert house.pace.room(in_flight=3) == max(0, room - 3)
