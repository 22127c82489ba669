"""An outbox row as the message that crosses the wire, and as names for the log."""

from messaging.broker import field_table
from messaging.broker.topology import Topology
from messaging.broker.wire import Message
from messaging.models import OutboxMessage


def message_of(row: OutboxMessage, topology: Topology) -> Message:
    """To the event exchange, or for a redrive to the one consumer's queue, attempt 0."""
    redrive = bool(row.consumer)
    return Message(
        exchange=topology.resume if redrive else topology.events,
        routing_key=row.consumer if redrive else row.type,
        body=bytes(row.body),
        message_id=str(row.event_id) if row.event_id else row.message_id or None,
        type=row.type or None,
        timestamp=int(row.created_at.timestamp()),
        headers=_headers(row),
    )


def names_of(row: OutboxMessage) -> dict[str, str | int | None]:
    """What the log calls it by."""
    return {
        "eventId": str(row.event_id) if row.event_id else None,
        "materialId": row.material_id or None,
        "revision": row.revision,
        "consumer": row.consumer or None,
    }


def _headers(row: OutboxMessage) -> field_table.Table:
    table = bytes(row.header_table)
    headers = field_table.decode_table(table, 0)[0] if table else {}
    headers["attempt"] = 0
    return headers
