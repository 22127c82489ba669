"""The first look at a delivery: header and body, before any database work."""

from collections.abc import Collection
from typing import NamedTuple

from messaging import registry
from messaging.broker.wire import Delivery
from messaging.envelope import Event, decode, read_attempt
from messaging.errors import PermanentError, SimulatedTransientError
from messaging.handling.unhandled import Unhandled


class Readable(NamedTuple):
    """A delivery whose header and body are sound."""

    delivery: Delivery
    event: Event
    attempt: int

    def failed(self, error: BaseException, *, transient: bool) -> Unhandled:
        """The same delivery, not handled because of this error."""
        return Unhandled(self.delivery, self.event, self.attempt, error, transient)


def read(delivery: Delivery, *, simulate_temporary: Collection[str]) -> Readable | Unhandled:
    """Check header and body. Never raises: what is wrong is in the Unhandled.

    A body is read though the header is wrong, so that log and copy can name the event. A sound
    event of a material in `simulate_temporary` is a SimulatedTransientError.
    """
    event, attempt, wrong = None, None, None
    try:
        attempt = read_attempt(delivery.headers)
    except PermanentError as error:
        wrong = _without_frames(error)
    try:
        event = decode(delivery.body, registry.event_types())
    except PermanentError as error:
        wrong = wrong or _without_frames(error)
    if event is None or attempt is None:
        assert wrong is not None
        return Unhandled(delivery, event, attempt, wrong, transient=False)
    readable = Readable(delivery, event, attempt)
    if event.material_id in simulate_temporary:
        simulated = SimulatedTransientError("SIMULATE_TEMPORARY names this material")
        return readable.failed(simulated, transient=True)
    return readable


def _without_frames(error: PermanentError) -> PermanentError:
    """What it says alone. The calls that it came through hold the body, and through `read` the
    error itself: large bodies would stay in memory until a garbage collection."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
