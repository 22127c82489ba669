"""Deliveries read as they come in, while the worker's own thread waits for its database."""

from collections.abc import Callable, Sequence

from messaging.broker.wire import Delivery
from messaging.handling.reading import Readable
from messaging.handling.unhandled import Unhandled

# A decoded event may take twenty times the room of its body, and a batch of usual facts takes a
# third of this.
MAX_BYTES_AHEAD = 1024 * 1024


class ReadingAhead:
    """For one session. `arrived` is called by the broker's thread, `read` by the worker's."""

    def __init__(self, read: Callable[[Delivery], Readable | Unhandled]) -> None:
        self._read = read
        self._ahead: dict[int, Readable | Unhandled] = {}  # by delivery tag
        # Each is written by one thread alone; what is ahead is the difference.
        self._bytes_read = self._bytes_taken = 0

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        """Read as much as there is room for, in a row: between frames it takes twice as long.

        Raises nothing: what cannot be read here is met again by the worker, who can tell it.
        """
        for delivery in deliveries:
            size = len(delivery.body)
            if self._bytes_read - self._bytes_taken + size > MAX_BYTES_AHEAD:
                return
            try:
                self._ahead[delivery.tag] = self._read(delivery)
            except Exception:  # noqa: BLE001  # here it would end the session, as if the broker had
                return
            self._bytes_read += size

    def read(self, delivery: Delivery) -> Readable | Unhandled:
        """What a delivery that was taken is. To be asked once for each."""
        found = self._ahead.pop(delivery.tag, None)
        if found is None:
            return self._read(delivery)
        self._bytes_taken += len(delivery.body)
        return found
