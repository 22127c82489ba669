"""A delivery that failed: what it was, as far as it could be read, and where it goes."""

from dataclasses import dataclass

from messaging.broker.wire import Delivery
from messaging.envelope import MAX_ATTEMPT, Event
from messaging.registry import Outcome


@dataclass(frozen=True)
class Unhandled:
    """One failed delivery and why it failed."""

    delivery: Delivery
    event: Event | None
    attempt: int | None  # None: the header is not an attempt, and travels as it came
    error: BaseException
    transient: bool

    @property
    def outcome(self) -> Outcome:
        again = self.transient and self.attempt is not None and self.attempt < MAX_ATTEMPT
        return Outcome.RETRIED if again else Outcome.DEAD
