"""Deliveries read as they come in, while the worker's own thread waits for its database."""

from collections.abc import Callable, Sequence

from messaging.broker.wire import Delivery
from messaging.handling.reading import Readable
from messaging.handling.unhandled import Unhandled

# An event takes several times the room of its body, and a whole prefetch may wait.
SMALL_BYTES = 8 * 1024


class ReadingAhead:
    """For one session. `arrived` is called by the broker's thread, `read` by the worker's."""

    def __init__(self, read: Callable[[Delivery], Readable | Unhandled]) -> None:
        self._read = read
        self._ahead: dict[int, Readable | Unhandled] = {}  # by delivery tag

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        """Read what is small, all of it in a row: between frames it takes twice as long."""
        for delivery in deliveries:
            if len(delivery.body) <= SMALL_BYTES:
                self._ahead[delivery.tag] = self._read(delivery)

    def read(self, delivery: Delivery) -> Readable | Unhandled:
        """What a delivery that was taken is. To be asked once for each."""
        return self._ahead.pop(delivery.tag, None) or self._read(delivery)
