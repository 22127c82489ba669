"""How many bulk rows the relay may send now: no more than the consumers soon get through.

An import that lay in the queues as a whole would keep everything behind it waiting, since a queue
has one order. So it stays in the outbox, and the queues hold about half a second of work. Pure
reckoning; who looks at the queues is the relay.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LOOK_SECONDS = 0.2
WORK_SECONDS = 0.5  # of a consumer's work may lie ready in its queue
LEAST_ROWS = 250  # may lie there in any case; also before a consumer's pace is known
WINDOW_SECONDS = 10.0  # over which a pace is taken
FIRST_PACE_SECONDS = 1.5  # after which there is one
STANDSTILL_SECONDS = 5.0  # after which a queue is not waited for
FAR_SLOWER = 10  # times: the slowest consumer that bulk for the others waits for
PATIENCE_SECONDS = 3.0  # for the answer to a look


@dataclass
class _Queue:
    ready: int = 0
    pace: float | None = None  # rows a second that its consumer takes, once that is known
    moved_at: float = 0.0
    # When, and how many of the rows confirmed by then were there no longer: never too many.
    looks: deque[tuple[float, int]] = field(default_factory=deque)
    most_drained: int = 0
    was_empty_at: float = 0.0
    burst: float = 0.0  # the most it took between two looks, of late, and then was empty
    burst_at: float = 0.0

    def look(self, now: float, confirmed: int, ready: int) -> None:
        drained = confirmed - ready
        if not self.looks or not ready or ready < self.ready or drained > self.most_drained:
            self.moved_at = now
        self.most_drained = max(self.most_drained, drained) if self.looks else drained
        if not ready:
            self.was_empty_at = now
            self._keep_burst(now, drained)
        self.ready = ready
        self.looks.append((now, drained))
        # A queue that ran empty shows how much came, and not how much could be taken.
        starved = now - self.was_empty_at < FIRST_PACE_SECONDS
        since = now - WINDOW_SECONDS if starved else max(now - WINDOW_SECONDS, self.was_empty_at)
        while self.looks[0][0] < since:
            self.looks.popleft()
        began, drained_then = self.looks[0]
        if now - began >= FIRST_PACE_SECONDS:
            shown = max(0.0, (drained - drained_then) / (now - began))
            self.pace = max(self.pace or 0.0, shown) if starved else shown

    @property
    def speed(self) -> float:
        """What it can do at least; a queue that is kept short shows it in bursts alone."""
        return max(self.pace or 0.0, self.burst)

    def _keep_burst(self, now: float, drained: int) -> None:
        if not self.looks or now <= self.looks[-1][0]:
            return
        burst = (drained - self.looks[-1][1]) / (now - self.looks[-1][0])
        if burst >= self.burst or now - self.burst_at > WINDOW_SECONDS:
            self.burst, self.burst_at = max(0.0, burst), now


class BulkPace:
    """Fed with looks at the main queues and with what the broker has confirmed.

    A queue that stands still, or is drained many times more slowly than another, is not waited
    for: a consumer that is stopped slows no other.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queues: dict[str, _Queue] = {}
        self._confirmed = 0
        self._confirmed_when_asked = 0
        self._waits_since: float | None = None
        self._seen_at: float | None = None
        self._asked_at: float | None = None

    def wants_look(self) -> bool:
        """Whether to ask for the depths now; then it counts as asked, until it `saw` them."""
        now = self._clock()
        waits = self._waits_since is not None
        if waits or (self._asked_at is not None and now - self._asked_at < LOOK_SECONDS):
            return False
        self._asked_at = self._waits_since = now
        self._confirmed_when_asked = self._confirmed
        return True

    def start_over(self) -> None:
        """Another session: what was asked in the one before is never answered."""
        self._waits_since = None

    def saw(self, depths: Mapping[str, int]) -> None:
        """The messages ready in each queue, as asked for; a missing queue is left out."""
        now = self._clock()
        if self._seen_at is not None and now - self._seen_at > WINDOW_SECONDS:
            self._queues.clear()  # what was known is of another time
        self._seen_at, self._waits_since = now, None
        self._queues = {name: self._queues.get(name) or _Queue() for name in depths}
        for name, ready in depths.items():
            self._queues[name].look(now, self._confirmed_when_asked, ready)

    def confirmed(self, count: int) -> None:
        """So many more rows are in the queues."""
        self._confirmed += count

    def room(self, *, in_flight: int) -> int | None:
        """How many bulk rows may go now, beside those in flight; None for any number."""
        now = self._clock()
        if self._waits_since is not None and now - self._waits_since > PATIENCE_SECONDS:
            return None
        if self._seen_at is None:
            return 0
        moving = [
            queue for queue in self._queues.values() if now - queue.moved_at < STANDSTILL_SECONDS
        ]
        fastest = max((queue.speed for queue in moving), default=0.0)
        since = self._confirmed - self._confirmed_when_asked + in_flight
        rooms = [
            max(LEAST_ROWS, int((queue.pace or 0.0) * WORK_SECONDS)) - queue.ready - since
            for queue in moving
            if queue.pace is None or queue.speed * FAR_SLOWER >= fastest
        ]
        return max(0, min(rooms)) if rooms else None
