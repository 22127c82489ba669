"""Bodies larger than any event wait on disk: whole, in order, and without filling the memory."""

import errno
import os
import tracemalloc
from collections.abc import Iterator

import pytest

from messaging.broker import large_bodies
from messaging.broker.large_bodies import LARGE_BYTES
from messaging.broker.unacked import Unacked
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


def test_on_a_full_disk_they_stay_in_memory(
    unacked: Unacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(large_bodies.os, "pwrite", full)
    large = body(1, 2 * LARGE_BYTES)

    unacked.arrived(delivery(1, large))

    assert take_all(unacked) == [large]
