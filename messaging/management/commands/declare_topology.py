"""`declare_topology`: every exchange, queue and binding, as the contract names them."""

from collections.abc import Sequence
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from messaging.broker.inspection import Difference, differences
from messaging.broker.sessions import serve_until_done, topology
from messaging.errors import BrokerUnavailable
from messaging.management.running import run_to_exit
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Backoff, Lifetime

log = structlog.get_logger(__name__)

CHECK_LIMIT_SECONDS = 30.0


class Command(BaseCommand):
    help = (
        "Declare the exchanges, queues and bindings on the broker; idempotent, and waits for a "
        "broker that is away. Nothing is ever deleted or re-created."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="change nothing; exit 1 where an exchange or queue is missing or differs "
            "(AMQP cannot be asked about bindings)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_to_exit(self._check if options["check"] else self._declare, using=None, once=True)

    def _declare(self, lifetime: Lifetime) -> int:
        serve_until_done(lambda _session: None, lifetime, name="declare_topology")
        if not lifetime.stopping:
            self.stdout.write(f"declared {len(list(topology()))} objects")
        return DONE

    def _check(self, lifetime: Lifetime) -> int:
        backoff = Backoff()
        while not lifetime.stopping:
            try:
                return self._tell(
                    differences(
                        settings.AMQP,
                        topology(),
                        timeout_seconds=CHECK_LIMIT_SECONDS,
                        lifetime=lifetime,
                    )
                )
            except BrokerUnavailable as error:
                seconds = backoff.next_seconds()
                log.warning("broker away", reason=str(error), retry_in_seconds=round(seconds, 1))
            lifetime.pause(seconds)
        return DONE

    def _tell(self, found: Sequence[Difference]) -> int:
        for difference in found:
            self.stdout.write(str(difference))
        if found:
            return FAILED
        self.stdout.write("all exchanges and queues stand as wanted")
        return DONE
