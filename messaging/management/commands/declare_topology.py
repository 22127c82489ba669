"""`declare_topology`: every exchange, queue and binding, as the contract names them."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from messaging.broker.inspection import differences
from messaging.broker.sessions import serve_until_done, topology
from messaging.errors import BrokerUnavailable, ConfigurationError
from messaging.management.running import run_to_exit
from messaging.process import DONE, FAILED, MISCONFIGURED, Lifetime

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
        if options["check"]:
            self._check()
        else:
            run_to_exit(self._declare)

    def _declare(self, lifetime: Lifetime) -> int:
        serve_until_done(lambda _session: None, lifetime, name="declare_topology")
        if not lifetime.stopping:
            self.stdout.write(f"declared {len(list(topology()))} objects")
        return DONE

    def _check(self) -> None:
        try:
            found = differences(settings.AMQP, topology(), timeout_seconds=CHECK_LIMIT_SECONDS)
        except BrokerUnavailable as error:
            raise CommandError(str(error), returncode=FAILED) from error
        except ConfigurationError as error:
            raise CommandError(str(error), returncode=MISCONFIGURED) from error
        for difference in found:
            self.stdout.write(str(difference))
        if found:
            sys.exit(FAILED)
        self.stdout.write("all exchanges and queues stand as wanted")
