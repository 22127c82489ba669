"""What a session has received and not acked yet: waiting to be taken, or taken."""

from collections import deque
from collections.abc import Sequence

from messaging.broker.large_bodies import LargeBodies, Place
from messaging.broker.wire import Delivery

# Larger than any event may be: on its way to a dead queue.
LARGE_BYTES = 256 * 1024
# A prefetch counts messages. A thousand facts of usual size are 2 MB; of the largest it would be
# 256 MB, for each process, whenever its database is busy.
MEMORY_BYTES = 32 * 1024 * 1024


class Unacked:
    """`arrived` is called by the broker's thread, everything else by the session's own.

    What is large, and what would take the bodies that wait beyond MEMORY_BYTES, waits on disk.
    """

    def __init__(self) -> None:
        self._arrived: deque[tuple[Delivery, Place | None]] = deque()
        self._large = LargeBodies()
        # Each is written by one thread alone; what waits in memory is the difference.
        self._bytes_arrived = self._bytes_taken = 0
        self._taken: dict[int, None] = {}  # tags, oldest first

    def __bool__(self) -> bool:
        """Whether `take` would give something."""
        return bool(self._arrived)

    def arrived(self, delivery: Delivery) -> None:
        size = len(delivery.body)
        waiting = self._bytes_arrived - self._bytes_taken
        if size > LARGE_BYTES or waiting + size > MEMORY_BYTES:
            place = self._large.put(delivery.body)
            if place is not None:
                self._arrived.append((delivery._replace(body=b""), place))
                return
        self._bytes_arrived += size
        self._arrived.append((delivery, None))

    def take(self, limit: int, *, limit_bytes: int) -> list[Delivery]:
        """The oldest first; at most `limit`, and no more once they have reached `limit_bytes`."""
        taken: list[Delivery] = []
        size = 0
        while self._arrived and len(taken) < limit and size < limit_bytes:
            delivery, place = self._arrived.popleft()
            if place is not None:
                delivery = delivery._replace(body=self._large.take(place))
            else:
                self._bytes_taken += len(delivery.body)
            self._taken[delivery.tag] = None
            taken.append(delivery)
            size += len(delivery.body)
        return taken

    def close(self) -> None:
        """Forget what has not been taken."""
        self._arrived.clear()
        self._bytes_taken = self._bytes_arrived
        self._large.close()

    def settle(self, deliveries: Sequence[Delivery]) -> tuple[int | None, list[int]]:
        """Forget these; the tag up to which all may be acked in one range, and tags beyond it."""
        for delivery in deliveries:
            del self._taken[delivery.tag]
        first_open = next(iter(self._taken), None)
        tags = sorted(delivery.tag for delivery in deliveries)
        in_range = [tag for tag in tags if first_open is None or tag < first_open]
        return (in_range[-1] if in_range else None), tags[len(in_range) :]
