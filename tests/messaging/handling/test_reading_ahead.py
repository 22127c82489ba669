"""Reading in the broker's thread: each delivery once, and no more than there is room for."""

import gc
import weakref

import pytest

from messaging.broker.wire import Delivery
from messaging.handling.reading import Readable, read
from messaging.handling.reading_ahead import MAX_BYTES_AHEAD, ReadingAhead
from messaging.handling.unhandled import Unhandled
from tests.messaging import facts
from tests.messaging.sessions import a_session

pytestmark = pytest.mark.any_database


def test_what_arrives_is_read_at_once_and_never_again() -> None:
    ahead, times = reader()
    deliveries = [delivery(1, facts.published().body), delivery(2, b"no event")]

    ahead.arrived(deliveries)
    read_on_arrival = list(times)
    found = [ahead.read(each) for each in deliveries]

    assert read_on_arrival == [1, 2]
    assert times == [1, 2]
    assert isinstance(found[0], Readable)
    assert isinstance(found[1], Unhandled)


def test_there_is_room_again_for_what_was_taken() -> None:
    ahead, times = reader()
    large = b" " * (MAX_BYTES_AHEAD // 2)
    first, second, third, fourth = (delivery(tag, large) for tag in range(4))

    ahead.arrived([first, second, third])
    read_on_arrival = list(times)
    ahead.read(first)
    ahead.arrived([fourth])

    assert read_on_arrival == [0, 1]
    assert times == [0, 1, 3]
    ahead.read(third)
    assert times == [0, 1, 3, 2]


def test_what_breaks_the_reading_is_met_where_it_is_taken() -> None:
    broken, sound = delivery(1, b"{}"), delivery(2, b"{}")

    def fail(one: Delivery) -> Readable | Unhandled:
        if one is broken:
            raise MemoryError
        return read(one, simulate_temporary=())

    ahead = ReadingAhead(fail)
    ahead.arrived([broken, sound])

    with pytest.raises(MemoryError):
        ahead.read(broken)
    assert isinstance(ahead.read(sound), Unhandled)


@pytest.mark.parametrize(
    ("body", "headers"),
    [(b"no event", {}), (b"{}", {}), (facts.published().body, {"attempt": "wrong"})],
)
def test_what_is_unreadable_is_gone_as_soon_as_nobody_holds_it(
    body: bytes, headers: dict[str, object]
) -> None:
    gc.disable()
    try:
        found = read(Delivery(1, False, body, None, None, headers, {}), simulate_temporary=())
        assert isinstance(found, Unhandled)
        error = weakref.ref(found.error)
        del found

        assert error() is None
    finally:
        gc.enable()


def test_a_session_that_is_closed_forgets_who_reads_ahead(namespace: str) -> None:
    ahead, _ = reader()
    of_whom = weakref.ref(ahead)
    with a_session() as session:
        session.consume(f"{namespace}.catalog", prefetch=10, on_arrival=ahead.arrived)
    del ahead

    assert of_whom() is None


def reader() -> tuple[ReadingAhead, list[int]]:
    """With the tags of what was read, in order."""
    times: list[int] = []

    def note(one: Delivery) -> Readable | Unhandled:
        times.append(one.tag)
        return read(one, simulate_temporary=())

    return ReadingAhead(note), times


def delivery(tag: int, body: bytes) -> Delivery:
    return Delivery(tag, False, body, None, None, {}, {})
