"""`delivery_status`: outbox, broker, queues and consumers at one moment."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from messaging.letters.failure_groups import FailureGroup, open_groups
from messaging.management.tables import TableConsole
from messaging.operating.status import DeliveryStatus, read_status
from messaging.running.exit_codes import FAILED
from messaging.running.inert_text import inert


class Command(BaseCommand):
    help = "Show the state of delivery; exit code 1 where something is unhealthy."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")

    def handle(self, *args: Any, **options: Any) -> None:
        status = read_status()
        if options["json"]:
            self.stdout.write(json.dumps(status.as_json()))
        else:
            groups = open_groups() if status.dead_letters_open else []
            _print_tables(status, groups, TableConsole(self.stdout))
        if not status.healthy:
            sys.exit(FAILED)


def _print_tables(status: DeliveryStatus, groups: Sequence[FailureGroup], console: Console) -> None:
    console.print(_outbox_table(status))
    console.print(_queue_table(status))
    console.print(_consumer_table(status))
    if groups:
        console.print(_failure_table(groups))
    for problem in status.problems:
        console.print(f"[!] {problem}", style="red")
    if status.healthy:
        console.print("Healthy.", style="green")


def _outbox_table(status: DeliveryStatus) -> Table:
    table = Table("pending", "failed", "oldest pending", title="Outbox", title_justify="left")
    oldest = status.outbox.oldest_pending_seconds
    table.add_row(
        str(status.outbox.pending),
        str(status.outbox.failed),
        "none" if oldest is None else f"{oldest:.1f} s",
    )
    return table


def _queue_table(status: DeliveryStatus) -> Table:
    reach = "reachable" if status.broker_reachable else "unreachable"
    table = Table("queue", "ready", "consumers", title=f"Broker: {reach}", title_justify="left")
    for name, depth in status.queues.items():
        table.add_row(name, str(depth.ready), str(depth.consumers))
    return table


def _consumer_table(status: DeliveryStatus) -> Table:
    table = Table(
        "consumer", "applied", "duplicate", "stale", title="Receipts", title_justify="left"
    )
    for name, counts in status.consumers.items():
        table.add_row(name, str(counts.applied), str(counts.duplicate), str(counts.stale))
    return table


def _failure_table(groups: Sequence[FailureGroup]) -> Table:
    table = Table(title="Open dead letters", title_justify="left")
    for name in ("consumer", "failure", "where", "letters", "first", "last"):
        table.add_column(name)
    for group in groups:
        table.add_row(
            group.consumer,
            Text(inert(group.reason)),  # a Text, since a plain string may hold markup
            Text(inert(group.place)),
            str(group.letters),
            f"{group.first_died_at:%Y-%m-%d %H:%M:%S}",
            f"{group.last_died_at:%Y-%m-%d %H:%M:%S}",
        )
    return table
