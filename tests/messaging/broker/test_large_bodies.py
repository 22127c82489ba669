"""Bodies larger than any event wait on disk: whole, in order, and without filling the memory."""

import errno
import os
import tracemalloc
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from messaging.broker import large_bodies
from messaging.broker.large_bodies import FILE_BYTES
from messaging.broker.unacked import LARGE_BYTES, MEMORY_BYTES, Unacked
from messaging.broker.wire import Delivery

pytestmark = pytest.mark.any_database


@pytest.fixture
def unacked() -> Iterator[Unacked]:
    held = Unacked()
    yield held
    held.close()


def delivery(tag: int, body: bytes) -> Delivery:
    return Delivery(
        tag=tag,
        redelivered=False,
        body=body,
        message_id=None,
        type=None,
        headers={},
        properties={},
    )


def body(number: int, size: int) -> bytes:
    return number.to_bytes(2) + bytes(size - 2)


def take_all(unacked: Unacked) -> list[bytes]:
    taken = []
    while unacked:
        taken += [each.body for each in unacked.take(10, limit_bytes=4 * LARGE_BYTES)]
    return taken


def test_small_and_large_bodies_come_back_whole_and_in_their_order(unacked: Unacked) -> None:
    sizes = [10, LARGE_BYTES + 1, LARGE_BYTES, 3 * LARGE_BYTES, 2, 2 * LARGE_BYTES]
    bodies = [body(number, size) for number, size in enumerate(sizes)]

    for _ in range(3):  # the room in the file is used again
        for tag, each in enumerate(bodies):
            unacked.arrived(delivery(tag, each))
        assert take_all(unacked) == bodies
        unacked.settle([delivery(tag, b"") for tag in range(len(bodies))])


def test_a_full_prefetch_of_large_bodies_fits_in_memory(unacked: Unacked) -> None:
    tracemalloc.start()
    try:
        for tag in range(60):
            unacked.arrived(delivery(tag, body(tag, 8 * LARGE_BYTES)))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 3 * 8 * LARGE_BYTES
    assert [each[:2] for each in take_all(unacked)] == [tag.to_bytes(2) for tag in range(60)]


def test_events_of_the_largest_size_fit_in_memory_together_and_come_back_in_order(
    unacked: Unacked,
) -> None:
    size = LARGE_BYTES - 1
    in_memory = MEMORY_BYTES // size
    tracemalloc.start()
    try:
        for first in (0, 500):  # what was taken makes room for more in memory
            for tag in range(first, first + 500):
                unacked.arrived(delivery(tag, body(tag, size)))
            assert len(unacked._large._files) == -(-(500 - in_memory) * size // FILE_BYTES)
            taken = take_all(unacked)
            assert [each[:2] for each in taken] == [
                tag.to_bytes(2) for tag in range(first, first + 500)
            ]
            del taken
        for tag in range(500):
            unacked.arrived(delivery(tag, body(tag, size)))
        now, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert now < MEMORY_BYTES + 2 * LARGE_BYTES


def test_what_was_taken_leaves_the_disk_however_long_more_comes(
    unacked: Unacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_bodies, "FILE_BYTES", 8 * LARGE_BYTES)

    def on_disk() -> int:
        return sum(os.fstat(each.file.fileno()).st_size for each in unacked._large._files)

    most = 0
    for tag in range(100):  # never empty, as with a prefetch that the broker refills
        unacked.arrived(delivery(tag, body(tag, 2 * LARGE_BYTES)))
        if tag >= 3:
            (taken,) = unacked.take(1, limit_bytes=1)
            assert taken.body == body(tag - 3, 2 * LARGE_BYTES)
        most = max(most, on_disk())

    assert most <= (8 + 8) * LARGE_BYTES  # a file that is nearly taken, and the one being filled
    take_all(unacked)
    assert on_disk() == 0


def test_on_a_full_disk_they_stay_in_memory_and_the_log_says_so_once(
    unacked: Unacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(large_bodies.os, "pwrite", full)
    large = [body(number, 2 * LARGE_BYTES) for number in range(2)]

    with capture_logs() as lines:
        for tag, each in enumerate(large):
            unacked.arrived(delivery(tag, each))

    assert take_all(unacked) == large
    assert [(line["log_level"], line["reason"]) for line in lines] == [
        ("warning", "No space left on device")
    ]
