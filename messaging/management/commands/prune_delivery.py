"""`prune_delivery`: deletes what delivery has settled long ago."""

import argparse
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging import registry
from messaging.broker.inspection import inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.management.plain_failures import plain_failures
from messaging.management.whole_numbers import whole_number
from messaging.operating.pruning import Pruned, Pruning
from messaging.operating.receipt_pruning import Depths, prune_receipts
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Lifetime

BROKER_LIMIT_SECONDS = 5.0


class Command(BaseCommand):
    help = (
        "Delete sent outbox rows, receipts, failed attempts, and resolved and discarded letters "
        "of long ago, in small steps. Nothing that is open or on its way is touched, and no "
        "receipt that a copy could still meet; exit 1 where receipts were refused for that. The "
        "audit is never pruned."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than", type=_days, required=True, metavar="DAYS", help="1 or more"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")

    def handle(self, *args: Any, older_than: timedelta, dry_run: bool, **options: Any) -> None:
        with plain_failures():
            code = self._prune(older_than, dry_run=dry_run)
        if code != DONE:
            sys.exit(code)

    def _prune(self, older_than: timedelta, *, dry_run: bool) -> int:
        now = datetime.now(UTC)
        with Lifetime(one_shot=True) as lifetime:
            pruning = Pruning(
                before=now - older_than,
                using=DEFAULT_DB_ALIAS,
                dry_run=dry_run,
                stopping=lambda: lifetime.stopping,
            )
            pruning.letters()
            pruning.outbox()
            for consumer in registry.consumers():
                pruning.failed_attempts(consumer, now=now)
                prune_receipts(pruning, consumer, topology=topology(), look=_depths, now=now)
            pruning.batches()
            if lifetime.stopping:
                self.stderr.write("Stopped on request; what was deleted so far stays deleted.")
        return self._report(pruning.pruned, dry_run=dry_run)

    def _report(self, pruned: Pruned, *, dry_run: bool) -> int:
        done = "to delete" if dry_run else "deleted"
        for kind, count in pruned.rows.items():
            self.stdout.write(f"{kind}: {count} {done}")
        if not any(pruned.rows.values()):
            self.stdout.write(f"nothing {done}")
        for line in pruned.kept:
            self.stdout.write(f"kept {line}")
        for line in pruned.refused:
            self.stderr.write(f"refused {line}")
        return FAILED if pruned.refused else DONE


def _depths() -> Depths | None:
    try:
        return inspect_queues(
            settings.AMQP, topology().queue_names(), timeout_seconds=BROKER_LIMIT_SECONDS
        )
    except DeliveryError:
        return None


def _days(text: str) -> timedelta:
    days = whole_number(text, least=1, most=36_500)
    if days is None:
        raise argparse.ArgumentTypeError("must be a whole number of days, 1 to 36500")
    return timedelta(days=days)
