"""A short look at the broker for a page: within two seconds, kept for a few, never held open.

While the broker is away the failure is kept longer than an answer would be: a broker that says
nothing at all costs its limit once in a while, and the pages stay as quick as ever.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext as _

from messaging import registry
from messaging.broker.address import BrokerAddress
from messaging.broker.inspection import QueueDepth, inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.running.time_limits import Overdue, SharedQuestion

LIMIT_SECONDS = 1.5
FRESH_SECONDS = 3.0
FAILURE_SECONDS = 10.0


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
    key, now = _key(), time.monotonic()
    failed = _failures.get(key)
    if failed is not None and now < failed[0]:
        return failed[1]
    _failures.clear()
    try:
        return BrokerLook(_question(key).answer())
    except Overdue:
        found = BrokerLook(problem=_("The broker does not answer."))
    except DeliveryError as error:
        found = BrokerLook(problem=str(error))
    _failures[key] = time.monotonic() + FAILURE_SECONDS, found
    return found


Depths = dict[str, QueueDepth | None]
_Key = tuple[BrokerAddress, tuple[str, ...]]
_questions: dict[_Key, SharedQuestion[Depths]] = {}
_failures: dict[_Key, tuple[float, BrokerLook]] = {}


def _key() -> _Key:
    return settings.AMQP, tuple(topology().queue_names())


def _question(key: _Key) -> SharedQuestion[Depths]:
    address, names = key
    if key not in _questions:
        _questions.clear()  # the settings of a running site do not change, those of a test do
        _questions[key] = SharedQuestion(
            lambda: inspect_queues(address, names, timeout_seconds=LIMIT_SECONDS),
            limit_seconds=LIMIT_SECONDS + 0.3,
            fresh_seconds=FRESH_SECONDS,
        )
    return _questions[key]
