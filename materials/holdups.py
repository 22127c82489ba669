"""What delivery may be waiting for at this moment: an operator, the relay, the broker, a consumer.

Asked only for facts that are late. A look is kept for a few seconds, so that many open pages
cost the broker and the database one question, and a page never waits longer than for one look. Each
process of the pages looks for itself.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models.functions import Now

from messaging import registry
from messaging.broker.inspection import QueueDepth, inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.models import Pause, RelayLease
from messaging.operating import pauses

KEPT_SECONDS = 3.0
BROKER_LIMIT_SECONDS = 1.0


@dataclass(frozen=True)
class Look:
    """One look at the ways. A consumer without an entry in `queues` has no queue.

    `paused` are the pauses that hold, by what they hold up.
    """

    relay_leads: bool
    broker_answers: bool
    queues: Mapping[str, QueueDepth] = field(default_factory=dict)
    paused: Mapping[str, Pause] = field(default_factory=dict)


_kept: tuple[float, Look] | None = None
_looking = threading.Lock()


def look() -> Look:
    """The state of the ways, at most KEPT_SECONDS old. Never raises for a broker that is away.

    Who comes while somebody looks waits for that look and takes it.
    """
    global _kept
    with _looking:
        now = time.monotonic()
        if _kept is None or now - _kept[0] > KEPT_SECONDS:
            _kept = now, _look()
        return _kept[1]


def forget() -> None:
    """Make the next look a new one."""
    global _kept
    _kept = None


def _look() -> Look:
    leads = RelayLease.objects.filter(expires_at__gt=Now()).exists()
    paused = {pause.target: pause for pause in pauses.active()}
    names = {each.name: topology().main(each.name) for each in registry.consumers()}
    try:
        depths = inspect_queues(
            settings.AMQP, list(names.values()), timeout_seconds=BROKER_LIMIT_SECONDS
        )
    except DeliveryError:
        return Look(relay_leads=leads, broker_answers=False, paused=paused)
    known = {name: depths.get(queue) for name, queue in names.items()}
    return Look(
        relay_leads=leads,
        broker_answers=True,
        queues={name: depth for name, depth in known.items() if depth is not None},
        paused=paused,
    )
