"""Bodies larger than any event may be wait on disk, so that a full prefetch of them fits in memory.

They are on their way to a dead queue, byte for byte. `put` is called by the broker's thread,
the rest by the session's own.
"""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass

LARGE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body lies in the file."""

    offset: int
    size: int


class LargeBodies:
    """One unnamed file a session, made when the first large body comes, gone with the session."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._end = 0
        self._put = self._taken = 0
        self._closed = False

    def put(self, body: bytes) -> Place | None:
        """None where the body has to stay in memory: it is small, or the disk does not take it."""
        if len(body) <= LARGE_BYTES or self._closed:
            return None
        try:
            if self._descriptor is None:
                self._descriptor = _unnamed_file()
            if self._put == self._taken:
                os.ftruncate(self._descriptor, 0)
                self._end = 0
            place = Place(self._end, len(body))
            _write(self._descriptor, body, place.offset)
        except OSError:
            return None
        self._end += len(body)
        self._put += 1
        return place

    def take(self, place: Place) -> bytes:
        """The body that was put there. Raises OSError when the disk does not give it back."""
        assert self._descriptor is not None
        pieces: list[bytes] = []
        offset, end = place.offset, place.offset + place.size
        while offset < end:
            piece = os.pread(self._descriptor, end - offset, offset)
            if not piece:
                raise OSError("a body that was put aside is no longer there")
            pieces.append(piece)
            offset += len(piece)
        self._taken += 1
        return b"".join(pieces)

    def close(self) -> None:
        """Give the room back; what was not taken comes again from the broker."""
        self._closed = True
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _unnamed_file() -> int:
    descriptor, path = tempfile.mkstemp(prefix="catalogsite-bodies-")
    os.unlink(path)
    return descriptor


def _write(descriptor: int, body: bytes, offset: int) -> None:
    rest = memoryview(body)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
