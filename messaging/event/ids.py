"""The identity of a new fact: a UUID version 7, so that ids sort by the time of their making."""

import os
import threading
import time
import uuid


def new_event_id() -> str:
    """A UUID version 7 (RFC 9562), greater than every earlier one of this process."""
    global _last_id
    milliseconds = time.time_ns() // 1_000_000
    fresh = (milliseconds << 74) | int.from_bytes(os.urandom(10)) >> 6
    with _last_id_lock:
        if fresh >> 74 <= _last_id >> 74:
            fresh = _last_id + 1 + (fresh & 0xFFFF_FFFF)
        _last_id = fresh
    value = (fresh >> 74) << 80 | 7 << 76 | (fresh >> 62 & 0xFFF) << 64
    value |= 2 << 62 | (fresh & (1 << 62) - 1)
    return str(uuid.UUID(int=value))


_last_id = 0
_last_id_lock = threading.Lock()
