"""The start of the way: the intention to publish, stored with the change itself."""

from django.db import DEFAULT_DB_ALIAS, transaction

from messaging.envelope import Event, encode
from messaging.models import OutboxMessage

CHANNEL = "delivery_outbox"


def record(event: Event, *, using: str = DEFAULT_DB_ALIAS) -> OutboxMessage:
    """Store the event for the relay, inside the caller's transaction.

    On PostgreSQL the commit also wakes the relay (NOTIFY). Raises TransactionManagementError
    outside a transaction, and MalformedEvent for an event that no consumer would accept.
    """
    connection = transaction.get_connection(using)
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "outbox.record() needs the transaction that makes the change"
        )
    message = OutboxMessage.objects.using(using).create(
        event_id=event.event_id,
        type=event.type,
        material_id=event.material_id,
        revision=event.revision,
        body=encode(event),
    )
    wake_relay(using=using)
    return message


def wake_relay(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Tell the relay, when this transaction commits, that there is work (PostgreSQL alone)."""
    connection = transaction.get_connection(using)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
