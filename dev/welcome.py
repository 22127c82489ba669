"""What `make up` shows once the site answers: the addresses, then the samples' first journey.

`python -m dev.welcome URL FILE` is a process of its own beside the others. FILE holds lines to
show as they are. On the first run (a database without materials) it publishes `samples/`.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener
from uuid import UUID

from rich.console import Console
from rich.table import Table

from catalogsite.start import read_settings

SAMPLES = "samples"
ANSWER_SECONDS = 60
ARRIVAL_SECONDS = 120


@dataclass(frozen=True)
class Journey:
    """One fact, and when each consumer had applied it (None: not yet)."""

    material_id: str
    revision: int | None
    type: str
    recorded_at: datetime
    applied_at: dict[str, datetime | None]

    @property
    def has_arrived(self) -> bool:
        return all(self.applied_at.values())


def main() -> int:
    url, addresses = sys.argv[1], Path(sys.argv[2])
    read_settings(serves_pages=False)
    import django

    django.setup()
    # Without a terminal the lines of a table would be folded to an unknown width.
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    if not _answers(url):
        console.print(f"The site does not answer at {url}: its own lines above say why.")
        return 1
    console.print(addresses.read_text(encoding="utf-8"), markup=False)
    if not _publish_samples(console):
        return 0
    return _show_journeys(console)


def journeys() -> list[Journey]:
    """Every fact in the outbox, with what the inbox knows of it."""
    from messaging.models import InboxReceipt, OutboxMessage
    from messaging.registry import consumers

    names = [consumer.name for consumer in consumers()]
    handled: dict[tuple[UUID | None, str], datetime] = {
        (receipt.event_id, receipt.consumer): receipt.handled_at
        for receipt in InboxReceipt.objects.filter(consumer__in=names)
    }
    return [
        Journey(
            material_id=fact.material_id,
            revision=fact.revision,
            type=fact.type,
            recorded_at=fact.created_at,
            applied_at={name: handled.get((fact.event_id, name)) for name in names},
        )
        for fact in OutboxMessage.objects.filter(consumer="").order_by("id")
    ]


def table_of(arrived: list[Journey]) -> Table:
    """One row a fact: from the commit of the editor's change to each projection's commit."""
    names = list(arrived[0].applied_at)
    table = Table(title=f"{len(arrived)} facts delivered", title_justify="left")
    for heading in ("material", "revision", "fact"):
        table.add_column(heading)
    for name in names:
        table.add_column(f"in {name} after", justify="right")
    for journey in arrived:
        times = [_seconds(journey, name) for name in names]
        table.add_row(
            journey.material_id,
            str(journey.revision),
            journey.type,
            *(f"{seconds * 1000:.0f} ms" for seconds in times),
        )
    return table


def _seconds(journey: Journey, name: str) -> float:
    applied_at = journey.applied_at[name]
    assert applied_at is not None
    return (applied_at - journey.recorded_at).total_seconds()


def _answers(url: str) -> bool:
    # The machine's HTTP proxy has no part in this.
    opener = build_opener(ProxyHandler({}))
    for _ in _until(ANSWER_SECONDS):
        with suppress(OSError):
            with suppress(HTTPError):
                opener.open(f"{url}/healthz", timeout=5).close()
            return True
    return False


def _publish_samples(console: Console) -> bool:
    """Whether there was something to publish: only a database without materials is given it."""
    from django.core.management import CommandError, call_command

    from materials.models import Material

    count = Material.objects.count()
    if count:
        console.print(f"{count} materials are here already; `{SAMPLES}/` was not imported again.")
        return False
    said = StringIO()
    try:
        call_command("import_materials", SAMPLES, publish=True, stdout=said, stderr=said)
    except CommandError as error:
        console.print(f"{SAMPLES}/ could not be imported: {error}", markup=False)
        return False
    return True


def _show_journeys(console: Console) -> int:
    under_way: list[Journey] = []
    for _ in _until(ARRIVAL_SECONDS):
        under_way = journeys()
        if under_way and all(journey.has_arrived for journey in under_way):
            console.print(table_of(under_way))
            return 0
    late = [journey.material_id for journey in under_way if not journey.has_arrived]
    console.print(
        f"After {ARRIVAL_SECONDS} s still on the way: {', '.join(late)}. "
        "See: .venv/bin/python manage.py delivery_status",
        markup=False,
    )
    return 1


def _until(seconds: float) -> Iterator[None]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
