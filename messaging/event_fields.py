"""The fields of every event as they stand on the wire, with their limits.

`messaging.envelope` decodes by them, and `messaging.event_schema` writes them down.
"""

from typing import Annotated, Generic, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

# Python's `$` also matches before a final line feed, JSON Schema's does not. This is one for both.
_END = r"$(?!\n)"
EventId = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END)
]
MaterialId = Annotated[
    str, Meta(pattern="^[a-z0-9][a-z0-9._-]*" + _END, min_length=1, max_length=64)
]
Revision = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Actor = Annotated[str, Meta(min_length=1, max_length=150)]

Data = TypeVar("Data")


class Envelope(Struct, Generic[Data], rename="camel"):
    """The fields of every event, as they stand on the wire."""

    event_id: EventId
    type: str
    schema_version: int
    occurred_at: str
    material_id: MaterialId
    revision: Revision
    data: Data
    actor: Actor | UnsetType = UNSET
