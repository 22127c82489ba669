"""Bodies that wait on disk for their turn, so that a full prefetch fits in memory.

Which they are is for `unacked` to say. `put` is called by the broker's thread, the rest by the
session's own.
"""

import os
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import structlog

log = structlog.get_logger(__name__)

# So much of what has been taken may still lie on the disk beside what has not.
FILE_BYTES = 32 * 1024 * 1024


@dataclass(slots=True, eq=False)
class _File:
    """Unnamed: it is gone with its descriptor."""

    file: IO[bytes]
    end: int = 0
    waiting: int = 0  # bodies in it that nobody has taken yet


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body lies."""

    file: _File
    offset: int
    size: int


class LargeBodies:
    """Files of a session, each given up once all that lay in it was taken."""

    def __init__(self) -> None:
        # Held while a body is written: no descriptor is closed, and given to another, meanwhile.
        self._lock = threading.Lock()
        self._files: set[_File] = set()
        self._current: _File | None = None
        self._closed = False
        self._has_warned = False

    def put(self, body: bytes) -> Place | None:
        """None where the body has to stay in memory: the disk does not take it."""
        with self._lock:
            if self._closed:
                return None
            try:
                file = self._file_with_room()
                _write(file.file.fileno(), body, file.end)
            except OSError as error:
                self._warn(error)
                return None
            place = Place(file, file.end, len(body))
            file.end += len(body)
            file.waiting += 1
            return place

    def take(self, place: Place) -> bytes:
        """The body that was put there. Raises OSError when the disk does not give it back."""
        pieces: list[bytes] = []
        offset, end = place.offset, place.offset + place.size
        while offset < end:
            piece = os.pread(place.file.file.fileno(), end - offset, offset)
            if not piece:
                raise OSError("a body that was put aside is no longer there")
            pieces.append(piece)
            offset += len(piece)
        with self._lock:
            place.file.waiting -= 1
            if not place.file.waiting:
                self._give_up(place.file)
        return b"".join(pieces)

    def close(self) -> None:
        """Give the room back; what was not taken comes again from the broker."""
        with self._lock:
            self._closed = True
            for file in list(self._files):
                self._give_up(file)

    def _warn(self, error: OSError) -> None:
        """Once for a session: there may be a thousand of them."""
        if not self._has_warned:
            self._has_warned = True
            log.warning("bodies wait in memory: the disk does not take them", reason=error.strerror)

    def _file_with_room(self) -> _File:
        if self._current is None or self._current.end >= FILE_BYTES:
            self._current = _File(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115  # kept open
            self._files.add(self._current)
        return self._current

    def _give_up(self, file: _File) -> None:
        self._files.discard(file)
        if file is self._current:
            self._current = None
        with suppress(OSError):
            file.file.close()


def _write(descriptor: int, body: bytes, offset: int) -> None:
    rest = memoryview(body)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
