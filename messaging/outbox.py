"""The start of the way: the intention to publish, stored with the change itself."""

from collections.abc import Sequence

from django.db import DEFAULT_DB_ALIAS, transaction

from messaging.envelope import Event
from messaging.models import OutboxMessage

CHANNEL = "delivery_outbox"


# What is more than this at once is bulk: it goes after what somebody waits for.
MOST_AT_ONCE = 25


def record(event: Event, *, bulk: bool = False, using: str = DEFAULT_DB_ALIAS) -> OutboxMessage:
    """Store the event for the relay, inside the caller's transaction.

    On PostgreSQL the commit also wakes the relay (NOTIFY). `bulk` says that it is one of many.
    Raises TransactionManagementError outside a transaction, and MalformedEvent for an event that
    no consumer would accept.
    """
    _refuse_outside_transaction(using)
    message = _message(event, bulk=bulk)
    message.save(using=using, force_insert=True)
    wake_relay(using=using)
    return message


def record_many(events: Sequence[Event], *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Store events of a large action, in this order: as `record` does, and bulk."""
    _refuse_outside_transaction(using)
    OutboxMessage.objects.using(using).bulk_create([_message(event, bulk=True) for event in events])
    wake_relay(using=using)


def wake_relay(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Tell the relay, when this transaction commits, that there is work (PostgreSQL alone)."""
    connection = transaction.get_connection(using)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'NOTIFY "{CHANNEL}"')


def _refuse_outside_transaction(using: str) -> None:
    if not transaction.get_connection(using).in_atomic_block:
        raise transaction.TransactionManagementError(
            "outbox.record() needs the transaction that makes the change"
        )


def _message(event: Event, *, bulk: bool) -> OutboxMessage:
    return OutboxMessage(
        event_id=event.event_id,
        type=event.type,
        material_id=event.material_id,
        revision=event.revision,
        body=event.body,
        bulk=bulk,
    )
