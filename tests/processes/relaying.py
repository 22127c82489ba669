"""The real relay without the cost of a process, and rows for it to send.

Where signals, kills, exit codes or the log count, tests start the real command instead.
"""

import json
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models.functions import Now

from messaging import outbox
from messaging.broker.field_table import encode_table
from messaging.broker.sessions import topology
from messaging.models import OutboxMessage, RelayLease
from messaging.running.process import Lifetime
from messaging.sending.relay import Relay
from tests.messaging import event_bodies, facts
from tests.wire import Message


@contextmanager
def relaying(**options: Any) -> Iterator[Lifetime]:
    """Relay in a thread until the block ends; raises what ended the relay before."""
    errors: list[BaseException] = []
    with Lifetime(catch_signals=False) as lifetime:

        def work() -> None:
            try:
                _relay(lifetime, **options).run()
            except BaseException as error:  # noqa: BLE001 - raised below, in the test's thread
                errors.append(error)
            finally:
                connections.close_all()

        thread = threading.Thread(target=work, name="relay")
        thread.start()
        try:
            yield lifetime
        finally:
            lifetime.stop()
            thread.join(60)
        assert not thread.is_alive(), "the relay did not stop"
    if errors:
        raise errors[0]


def relay_once(**options: Any) -> int:
    """Relay in this thread until nothing is due, as `relay_outbox --once`; the exit code."""
    with Lifetime(catch_signals=False) as lifetime:
        return _relay(lifetime, once=True, **options).run()


def record(*events: Any, bulk: bool = False) -> list[OutboxMessage]:
    """Publish these facts, as the editors' verbs do."""
    with transaction.atomic():
        return [outbox.record(event, bulk=bulk) for event in events]


def record_facts(
    count: int, *, materials: int = 1, prefix: str = "article", bulk: bool = False
) -> list[OutboxMessage]:
    """So many facts, the materials in turn, each with the next revision."""
    return record(
        *(
            facts.published(f"{prefix}-{number % materials}", number // materials + 1)
            for number in range(count)
        ),
        bulk=bulk,
    )


def record_many(count: int, *, materials: int = 10, bulk: bool = False) -> None:
    """The same by the thousand, in one statement a thousand."""
    event = facts.published()
    rows = [
        OutboxMessage(
            event_id=(event_id := uuid.uuid4()),
            type=event.type,
            material_id=f"article-{number % materials}",
            revision=number // materials + 1,
            body=event_bodies.as_bytes(
                event_bodies.published(
                    materialId=f"article-{number % materials}",
                    revision=number // materials + 1,
                    eventId=str(event_id),
                )
            ),
            bulk=bulk,
        )
        for number in range(count)
    ]
    OutboxMessage.objects.bulk_create(rows, batch_size=500)


def record_row(**changes: Any) -> OutboxMessage:
    """A row as no verb would write it, by way of the table."""
    event = facts.published()
    headers: dict[str, Any] | None = changes.pop("headers", None)
    fields: dict[str, Any] = {
        "event_id": event.event_id,
        "type": event.type,
        "material_id": event.material_id,
        "revision": event.revision,
        "body": event.body,
        **changes,
    }
    if headers is not None:
        pieces: list[bytes] = []
        encode_table(pieces, headers)
        fields["header_table"] = b"".join(pieces)
    return OutboxMessage.objects.create(**fields)


def states(rows: Sequence[OutboxMessage]) -> list[str]:
    """The states of these rows now, in their order."""
    now = dict(
        OutboxMessage.objects.using(DEFAULT_DB_ALIAS)
        .filter(pk__in=[row.pk for row in rows])
        .values_list("pk", "state")
    )
    return [now[row.pk] for row in rows]


def all_sent(rows: Sequence[OutboxMessage]) -> bool:
    return set(states(rows)) == {"sent"}


def free_lease() -> None:
    """As if the time of a relay that was killed had run out."""
    RelayLease.objects.update(expires_at=Now())


def complete_and_in_order(received: Sequence[Message], rows: Sequence[OutboxMessage]) -> bool:
    """Every row crossed the wire, and of each material the revisions in order.

    A message may come twice; what counts is when it came first.
    """
    revisions: dict[str, list[int]] = {}
    first: dict[str, None] = {}
    for message in received:
        event = json.loads(message.body)
        if event["eventId"] not in first:
            first[event["eventId"]] = None
            revisions.setdefault(event["materialId"], []).append(event["revision"])
    missing = {str(row.event_id) for row in rows} - first.keys()
    assert not missing, f"{len(missing)} of {len(rows)} are missing"
    out_of_order = {name: each for name, each in revisions.items() if each != sorted(each)}
    assert not out_of_order
    return True


def _relay(lifetime: Lifetime, **options: Any) -> Relay:
    return Relay(topology(), lifetime, using=DEFAULT_DB_ALIAS, **options)
