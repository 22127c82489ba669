"""The audit trail to be read: page by page from the table, as JSON or as lines for people."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec
from django.db import DEFAULT_DB_ALIAS

from materials.audit.models import AuditRecord
from messaging.running.inert_text import inert

# An envelope has up to 256 KiB: a page stays below 26 MB.
PAGE_SIZE = 100


def records(
    *, material_id: str | None = None, using: str = DEFAULT_DB_ALIAS
) -> Iterator[AuditRecord]:
    """All records, or one material's, in order of arrival.

    Holds one page in memory and no transaction open; what arrives meanwhile comes at the end.
    """
    rows = AuditRecord.objects.using(using).order_by("id")
    if material_id is not None:
        rows = rows.filter(material_id=material_id)
    last_id = 0
    while page := list(rows.filter(id__gt=last_id)[:PAGE_SIZE]):
        yield from page
        last_id = page[-1].id


def as_json(trail: Iterable[AuditRecord]) -> Iterator[str]:
    """One JSON array, a record a line. Envelopes stand in it character by character."""
    before = "[\n"
    for record in trail:
        yield before + _object(record)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def as_lines(trail: Iterable[AuditRecord]) -> Iterator[str]:
    """A table for people, in UTC. Characters that do not print are shown as their escapes."""
    received = False
    for record in trail:
        if not received:
            yield _LINE.format("received (UTC)", "event", "material", "revision", "by", "event id")
            received = True
        yield _LINE.format(
            f"{record.received_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
            record.type.removeprefix("material."),
            record.material_id,
            record.revision,
            inert(record.actor) or "-",
            record.event_id,
        )
    if not received:
        yield "Nothing has been received.\n"


_LINE = "{:<20} {:<10} {:<24} {:>8}  {:<16} {}\n"


class _AsReceived(msgspec.Struct, rename="camel"):
    occurred_at: str


def _object(record: AuditRecord) -> str:
    # The column holds the moment; the envelope has it as the sender wrote it.
    received = msgspec.json.decode(record.envelope, type=_AsReceived)
    fields = {
        "eventId": str(record.event_id),
        "type": record.type,
        "materialId": record.material_id,
        "revision": record.revision,
        "occurredAt": received.occurred_at,
        "receivedAt": _moment(record.received_at),
        "actor": record.actor or None,
    }
    text = json.dumps(fields, ensure_ascii=False)
    return f'{text[:-1]}, "envelope": {record.envelope.strip()}}}'


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
