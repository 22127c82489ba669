"""Rows as JSON for one statement, for the projections on PostgreSQL.

One document instead of an array a column: psycopg writes arrays element by element in Python,
which costs more than all the rest of the statement.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

# Bounds the memory of a statement on both sides; jsonb itself ends at 255 MiB.
DOCUMENT_BYTES = 8 * 1024 * 1024


def documents(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """The rows as arrays of arrays, each document of at most DOCUMENT_BYTES, or of one row."""
    encoded: list[bytes] = []
    size = 0
    for row in rows:
        text = msgspec.json.encode(row)
        if encoded and size + len(text) > DOCUMENT_BYTES:
            yield f"[{b','.join(encoded).decode()}]"
            encoded, size = [], 0
        encoded.append(text)
        size += len(text)
    yield f"[{b','.join(encoded).decode()}]"
