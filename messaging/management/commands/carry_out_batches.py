"""`carry_out_batches`: decisions over very many letters, piece by piece."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging.letters.batch_runner import BatchRunner
from messaging.management.running import run_to_exit


class Command(BaseCommand):
    help = "Carry out the large actions that operators have decided, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="stop when none is left; exit 1 where one was given up",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_to_exit(
            lambda lifetime: BatchRunner(
                lifetime, using=DEFAULT_DB_ALIAS, once=options["once"]
            ).run(),
            once=options["once"],
        )
