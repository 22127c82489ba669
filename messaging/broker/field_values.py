"""What the values of AMQP field tables are in Python, so that nothing is lost on the way.

type letter        Python value                 written back as
t                  bool                         t
b B s u U I i l L  int                          I, or l beyond 32 bits
f d                float                        d
D                  decimal.Decimal              D, scale kept
S                  str, or LongString           S
x                  bytes                        x
T                  Timestamp                    T
A F V              list, dict, None             A F V
anything else      Undecodable                  refused
"""

from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 64  # a table of plain values is depth 1
UNREADABLE = "(unreadable)"  # the key of the rest of a table whose next key cannot be read

Table = dict[str | bytes, Any]  # a key that is not UTF-8 stays bytes


class Timestamp(int):
    """Seconds since 1970 as AMQP counts them: 64 bits unsigned, beyond any `datetime`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Timestamp({int(self)})"


class LongString(bytes):
    """A string (type S) that is not UTF-8; plain bytes are a byte array (type x)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"LongString({bytes(self)!r})"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """Bytes of a table that are no value: of an unknown type, cut short, or nested too deep."""

    raw: bytes
