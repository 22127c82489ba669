"""The fields of every event as they stand on the wire, with their limits.

`messaging.envelope` decodes by them, and `messaging.event.schema` writes them down.
"""

from typing import Annotated, Generic, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

# Python's `$` also matches before a final line feed, JSON Schema's does not. This is one for both.
_END = r"$(?!\n)"
EventId = Annotated[
    str,
    Meta(
        description="Names the fact for ever; a UUID in canonical lower-case form.",
        pattern="^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END,
    ),
]
OccurredAt = Annotated[
    str,
    # Read by `times`, and once only; here it is for the schema.
    Meta(
        description="RFC 3339, with an offset.",
        extra_json_schema={
            "format": "date-time",
            "pattern": (
                "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?"
                "(?:[Zz]|[+-][0-9]{2}:[0-9]{2})" + _END
            ),
        },
    ),
]
# The same, for addresses and settings: as a regular expression for the whole of a text.
MATERIAL_ID = "[a-z0-9][a-z0-9._-]{0,63}"
MaterialId = Annotated[
    str, Meta(pattern="^[a-z0-9][a-z0-9._-]*" + _END, min_length=1, max_length=64)
]
Revision = Annotated[
    int,
    Meta(
        description="Grows by one with every published fact of the material.",
        ge=1,
        le=2**63 - 1,
    ),
]
Actor = Annotated[
    str, Meta(description="The user name of who did it.", min_length=1, max_length=150)
]

Data = TypeVar("Data")


class Envelope(Struct, Generic[Data], rename="camel"):
    """The fields of every event, as they stand on the wire."""

    event_id: EventId
    type: str
    schema_version: int
    occurred_at: OccurredAt
    material_id: MaterialId
    revision: Revision
    data: Data
    actor: Actor | UnsetType = UNSET
