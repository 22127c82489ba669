"""`relay_outbox`: outbox -> broker."""

from functools import partial
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging.broker.sessions import topology
from messaging.management.letter_options import add_operator, operator
from messaging.management.running import run_to_exit
from messaging.running.process import Lifetime
from messaging.sending import parked_rows
from messaging.sending.relay import Relay
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = (
        "Publish pending outbox rows to the broker, with confirms, until stopped. Several may "
        "run: one leads, the others stand by."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="stop when no row is due; exit 1 where a row could not be delivered",
        )
        parser.add_argument(
            "--retry-failed",
            action="store_true",
            help="first make every row due again that was parked as failed; the decision log "
            "tells of it",
        )
        add_operator(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        def relay(lifetime: Lifetime) -> int:
            if options["retry_failed"]:
                _retry_failed(options["operator"], lifetime)
            using = DEFAULT_DB_ALIAS
            return Relay(topology(), lifetime, using=using, once=options["once"]).run()

        run_to_exit(relay, once=options["once"])


def _retry_failed(name: str, lifetime: Lifetime) -> None:
    # Not in the relay's own turns: a person's decision is on the disk before it is told.
    count = parked_rows.retry_all_failed(
        operator=partial(operator, name),
        turns=DatabaseTurns(DEFAULT_DB_ALIAS, lifetime),
        using=DEFAULT_DB_ALIAS,
        stopping=lambda: lifetime.stopping,
    )
    log.info("failed rows are due again", rows=count)
