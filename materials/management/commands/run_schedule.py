"""`run_schedule`: publishes and withdraws at the times that editors have set."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from materials.schedule_runner import ScheduleRunner
from messaging.management.running import run_to_exit


class Command(BaseCommand):
    help = (
        "Publish and withdraw what is planned, to the second, until stopped. Several may run: "
        "each planned act is carried out once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="carry out what is due now and stop; exit 1 where something was refused",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        once: bool = options["once"]
        run_to_exit(lambda lifetime: ScheduleRunner(lifetime, once=once).run(), once=once)
