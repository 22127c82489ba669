"""`relay_outbox`: outbox -> broker."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging.broker.sessions import topology
from messaging.management.running import run_to_exit
from messaging.relay import Relay


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
            help="first make every row due again that was parked as failed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_to_exit(
            lambda lifetime: Relay(
                topology(),
                lifetime,
                using=DEFAULT_DB_ALIAS,
                once=options["once"],
                retry_failed=options["retry_failed"],
            ).run()
        )
