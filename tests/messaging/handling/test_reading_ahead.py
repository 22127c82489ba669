"""Reading in the broker's thread: each delivery once, and only what is small."""

import pytest

from messaging.broker.wire import Delivery
from messaging.handling.reading import Readable, read
from messaging.handling.reading_ahead import SMALL_BYTES, ReadingAhead
from messaging.handling.unhandled import Unhandled
from tests.messaging import facts

pytestmark = pytest.mark.any_database


def test_what_is_small_is_read_as_it_arrives_and_never_again() -> None:
    ahead, times = reader()
    deliveries = [delivery(1, facts.published().body), delivery(2, b"no event")]

    ahead.arrived(deliveries)
    read_on_arrival = list(times)
    found = [ahead.read(each) for each in deliveries]

    assert read_on_arrival == [1, 2]
    assert times == [1, 2]
    assert isinstance(found[0], Readable)
    assert isinstance(found[1], Unhandled)


def test_what_is_large_waits_as_bytes_until_it_is_taken() -> None:
    ahead, times = reader()
    large = delivery(1, b" " * (SMALL_BYTES + 1))

    ahead.arrived([large])
    read_on_arrival = list(times)
    ahead.read(large)

    assert read_on_arrival == []
    assert times == [1]


def reader() -> tuple[ReadingAhead, list[int]]:
    """With the tags of what was read, in order."""
    times: list[int] = []

    def note(one: Delivery) -> Readable | Unhandled:
        times.append(one.tag)
        return read(one, simulate_temporary=())

    return ReadingAhead(note), times


def delivery(tag: int, body: bytes) -> Delivery:
    return Delivery(tag, False, body, None, None, {}, {})
