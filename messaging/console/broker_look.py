"""A short look at the broker for a page: within two seconds, kept for a few, never held open.

While the broker is away the failure is kept as long as an answer would be, so that the pages
stay as quick as ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext as _

from messaging import registry
from messaging.broker.inspection import QueueDepth, inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.time_limits import Overdue, SharedQuestion

LIMIT_SECONDS = 1.5
FRESH_SECONDS = 3.0


@dataclass(frozen=True)
class BrokerLook:
    """The queues by name, None for a missing one; or, where none could be seen, why."""

    queues: Mapping[str, QueueDepth | None] = field(default_factory=dict)
    problem: str = ""

    @property
    def uncollected(self) -> int:
        """Messages in the dead queues that nobody has collected yet."""
        dead = [topology().dead(each.name) for each in registry.consumers()]
        found = (self.queues.get(name) for name in dead)
        return sum(depth.ready for depth in found if depth is not None)


def look() -> BrokerLook:
    """The queues as they are, or were a few seconds ago. Raises nothing; says no credentials."""
    try:
        return BrokerLook(_question().answer())
    except Overdue:
        return BrokerLook(problem=_("The broker does not answer."))
    except DeliveryError as error:
        return BrokerLook(problem=str(error))


Depths = dict[str, QueueDepth | None]
_questions: dict[tuple[object, ...], SharedQuestion[Depths]] = {}


def _question() -> SharedQuestion[Depths]:
    address, names = settings.AMQP, tuple(topology().queue_names())
    key = (address, names)
    if key not in _questions:
        _questions.clear()  # the settings of a running site do not change, those of a test do
        _questions[key] = SharedQuestion(
            lambda: inspect_queues(address, names, timeout_seconds=LIMIT_SECONDS),
            limit_seconds=LIMIT_SECONDS + 0.3,
            fresh_seconds=FRESH_SECONDS,
        )
    return _questions[key]
