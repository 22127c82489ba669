"""One session after another: connect, serve, and after a loss connect again.

Reconnecting means a new connection, a new channel, the declarations and the subscription.
"""

import time
from collections.abc import Callable

import structlog
from django.conf import settings

from messaging import registry
from messaging.broker.session import Session
from messaging.broker.topology import Topology
from messaging.errors import BrokerUnavailable
from messaging.running.process import LONGEST_PAUSE_SECONDS, Backoff, Lifetime

log = structlog.get_logger(__name__)


def topology() -> Topology:
    """The topology of the settings and the registered consumers."""
    return Topology(
        namespace=settings.DELIVERY_NAMESPACE,
        queue_type=settings.DELIVERY_QUEUE_TYPE,
        retry_delay_ms=settings.DELIVERY_RETRY_DELAY_MS,
        subscribers=registry.consumers(),
    )


def serve_until_done(
    serve: Callable[[Session], None],
    lifetime: Lifetime,
    *,
    name: str,
    while_away: Callable[[], None] = lambda: None,
) -> None:
    """Give `serve` a session, and a new one each time it is lost, until `serve` returns.

    Returns early when asked to stop. ConfigurationError goes through to the caller; a broker
    that is away never does: `while_away` is called before each pause.
    """
    backoff = Backoff()
    while not lifetime.stopping:
        session = Session(settings.AMQP, topology(), lifetime, name=name)
        opened_at: float | None = None
        try:
            if not session.open():
                return
            opened_at = time.monotonic()
            serve(session)
            return
        except BrokerUnavailable as error:
            if session.did_work or _lasted(opened_at):
                backoff.reset()
            seconds = backoff.next_seconds()
            log.warning("broker away", reason=str(error), retry_in_seconds=round(seconds, 1))
        finally:
            session.close()
        while_away()
        lifetime.pause(seconds)


def _lasted(opened_at: float | None) -> bool:
    return opened_at is not None and time.monotonic() - opened_at > LONGEST_PAUSE_SECONDS
