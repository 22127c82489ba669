"""`consume NAME`: broker -> inbox and projection -> ack, retry or dead."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from messaging import registry
from messaging.broker.sessions import topology
from messaging.handling.worker import DEFAULT_PREFETCH, Worker
from messaging.management.running import run_to_exit
from messaging.management.whole_numbers import whole_number


class Command(BaseCommand):
    help = "Consume one consumer's queue until stopped. Several processes of one NAME may run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name",
            metavar="NAME",
            choices=[each.name for each in registry.consumers()],
            help="one of: %(choices)s",
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="stop when the queue is empty; exit 1 where a copy for the retry or dead queue "
            "was not taken",
        )
        parser.add_argument(
            "--prefetch",
            type=_prefetch,
            default=DEFAULT_PREFETCH,
            metavar="N",
            help="how many messages may be unacked at once, 1 to 65535 (default: %(default)s); "
            "1 is strictly sequential",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        consumer = registry.consumer(options["name"])
        run_to_exit(
            lambda lifetime: Worker(
                consumer,
                topology(),
                lifetime,
                prefetch=options["prefetch"],
                once=options["once"],
                simulate_temporary=settings.SIMULATE_TEMPORARY,
            ).run(),
            using=consumer.database,
            once=options["once"],
        )


def _prefetch(text: str) -> int:
    number = whole_number(text, least=1, most=65535)
    if number is None:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 65535")
    return number
