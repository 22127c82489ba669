"""`collect_dead_letters`: dead queues -> database."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging.broker.sessions import topology
from messaging.letters.collector import Collector
from messaging.management.running import run_to_exit


class Command(BaseCommand):
    help = (
        "Move what lies in the dead queues into the database (commit, then ack), and settle what "
        "was requeued and has arrived, until stopped. Several may run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="stop when the dead queues are empty; exit 1 where a letter could not be stored",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_to_exit(
            lambda lifetime: Collector(
                topology(), lifetime, using=DEFAULT_DB_ALIAS, once=options["once"]
            ).run(),
            once=options["once"],
        )
