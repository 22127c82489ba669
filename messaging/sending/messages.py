"""An outbox row as the message that crosses the wire, and as names for the log."""

from messaging.broker import field_table
from messaging.broker.topology import Topology
from messaging.broker.wire import Message
from messaging.sending.rows import OutboxRow


def message_of(row: OutboxRow, topology: Topology) -> Message:
    """To the event exchange, or for a redrive to the one consumer's queue, attempt 0."""
    redrive = bool(row.consumer)
    return Message(
        exchange=topology.resume if redrive else topology.events,
        routing_key=row.consumer if redrive else row.type,
        body=row.body,
        message_id=row.event_id or row.message_id or None,
        type=row.type or None,
        timestamp=row.created_at,
        headers=_headers(row),
    )


def names_of(row: OutboxRow) -> dict[str, str | int | None]:
    """What the log calls it by."""
    return {
        "eventId": row.event_id,
        "materialId": row.material_id or None,
        "revision": row.revision,
        "consumer": row.consumer or None,
    }


def _headers(row: OutboxRow) -> field_table.Table:
    headers = field_table.decode_table(row.header_table, 0)[0] if row.header_table else {}
    headers["attempt"] = 0
    return headers
