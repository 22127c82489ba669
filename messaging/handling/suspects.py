"""Copies over which the broker ends the session: found one by one, then offered alone and rarely.

A message above the broker's size limit (lowered by an upgrade, say) makes it close the channel,
and with it all that is under way. Nobody is told which message it was; offered again at once, it
would keep those beside it from ever being taken.
"""

import time
from collections.abc import Iterator, Sequence
from hashlib import sha256

import structlog

from messaging.handling.unhandled import Unhandled

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 30.0


class Suspects:
    """What one process knows of them; outlives the sessions that they cost."""

    def __init__(self) -> None:
        self._one_at_a_time = False
        self._not_before: dict[bytes, float] = {}

    def blame(self, copies: Sequence[Unhandled]) -> None:
        """The broker ended the session over one of these."""
        self._one_at_a_time = len(copies) > 1
        if self._one_at_a_time:
            return
        (culprit,) = copies
        self._not_before[_key(culprit)] = time.monotonic() + PAUSE_SECONDS
        log.error(
            "the broker ends the session over this copy; its original stays unacked",
            eventId=culprit.event.event_id if culprit.event else None,
            bytes=len(culprit.delivery.body),
            retry_in_seconds=PAUSE_SECONDS,
        )

    def must_wait(self, copy: Unhandled) -> bool:
        """Whether it is not yet time to try that copy again."""
        return time.monotonic() < self._not_before.get(_key(copy), 0.0)

    def may_go_along(self, copy: Unhandled) -> bool:
        """Whether it may be offered together with others."""
        return not self._one_at_a_time and _key(copy) not in self._not_before

    def parts(self, copies: Sequence[Unhandled]) -> Iterator[Sequence[Unhandled]]:
        """The others, as they are to be offered: each alone, known suspects last."""
        known = [copy for copy in copies if _key(copy) in self._not_before]
        others = [copy for copy in copies if _key(copy) not in self._not_before]
        yield from ([copy] for copy in others)
        if others:
            self._one_at_a_time = False
        yield from ([copy] for copy in known)

    def clear(self, copy: Unhandled) -> None:
        """The broker has taken it after all."""
        self._not_before.pop(_key(copy), None)


def _key(copy: Unhandled) -> bytes:
    return sha256(copy.delivery.body).digest()
