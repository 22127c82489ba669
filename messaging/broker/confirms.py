"""The ledger of messages on their way to the broker, and what the broker said of each.

Pure bookkeeping for one channel in confirm mode, kept by the broker's thread. Confirms come
out of order, `multiple` covers every open tag up to n, and a return carries no tag and comes
before its confirm: https://www.rabbitmq.com/docs/confirms.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile


class Verdict(StrEnum):
    """What is known of one published message; only CONFIRMED hands responsibility over."""

    CONFIRMED = "confirmed"
    RETURNED = "returned"  # no queue took it
    NACKED = "nacked"  # a queue refused it
    UNENCODABLE = "unencodable"  # it never left, and never can
    UNKNOWN = "unknown"  # the session ended first: send it again
    SUSPECT = "suspect"  # the broker closed the channel over this batch
    FORBIDDEN = "forbidden"  # the same: the user may not publish there at all


@dataclass(frozen=True, slots=True)
class Result:
    verdict: Verdict
    detail: str = ""


Route = tuple[str, str, str]  # message_id, exchange, routing key

UNKNOWN = Result(Verdict.UNKNOWN, "the session ended before the broker confirmed")
SUSPECT = Result(Verdict.SUSPECT, "the broker closed the connection over what it was sent")
_CONFIRMED = Result(Verdict.CONFIRMED)
_UNSEEN = Result(Verdict.UNKNOWN, "the queues were not seen behind it")
_NACKED = Result(Verdict.NACKED, "a queue refused the message (basic.nack)")


class Batch:
    """Messages published together. `done` turns true once every result is known.

    `standing` are the queues that have to be seen behind them.
    """

    def __init__(self, routes: Sequence[Route], *, standing: Sequence[str] = ()) -> None:
        self.routes = routes
        self.standing = standing
        self.is_looked_for = False
        self.is_unseen = bool(standing)
        self.results: list[Result | None] = [None] * len(routes)
        self.open = len(routes)

    @property
    def done(self) -> bool:
        return self.open == 0 and not self.is_looked_for

    def settle(self, index: int, result: Result) -> None:
        """Keep the first result of a message; later ones change nothing."""
        if self.results[index] is None:
            self.results[index] = result
            self.open -= 1

    def settle_rest(self, result: Result) -> None:
        """Give every message without a result this one."""
        for index in range(len(self.results)):
            self.settle(index, result)

    def known(self) -> list[Result | None]:
        """What is known at this moment, from any thread.

        Until the queues were seen nobody knows who got what is confirmed.
        """
        results = list(self.results)  # before the look at the other, which covers all of them
        if self.is_unseen:
            return [_UNSEEN if result is _CONFIRMED else result for result in results]
        return results


class Ledger:
    """Open delivery tags of one channel, in the order of publishing, and looks in theirs."""

    def __init__(self) -> None:
        self._last_tag = 0
        self._looks: deque[Batch] = deque()
        self._open: dict[int, tuple[Batch, int]] = {}
        self._returned: dict[int, str] = {}
        # Made when a message returns, which few ever do, and dropped with the end of a batch.
        self._tags_by_route: dict[Route, list[int]] | None = None

    def sent(self, batch: Batch, index: int) -> int:
        """A message of the batch went out; the tag by which the broker will confirm it."""
        self._last_tag += 1
        self._open[self._last_tag] = (batch, index)
        if self._tags_by_route is not None:
            self._tags_by_route.setdefault(batch.routes[index], []).append(self._last_tag)
        return self._last_tag

    def looked(self, batch: Batch) -> None:
        """The channel was asked for the queues that have to stand, behind the batch's messages."""
        batch.is_looked_for = True
        self._looks.append(batch)

    def seen(self) -> bool:
        """Those of the next batch stand. True when it completed the batch."""
        if not self._looks:
            return False
        batch = self._looks.popleft()
        batch.is_looked_for = batch.is_unseen = False
        return batch.done

    def returned(self, route: Route, reason: str) -> None:
        """The broker sent a message back. Of equal ones nobody knows which: it may be any of them,
        and to send one twice does no harm."""
        if self._tags_by_route is None:
            self._tags_by_route = {}
            for tag, (batch, index) in self._open.items():
                self._tags_by_route.setdefault(batch.routes[index], []).append(tag)
        for tag in self._tags_by_route.get(route, ()):
            if tag in self._open:
                self._returned.setdefault(tag, reason)

    def confirmed(self, tag: int, *, multiple: bool, positive: bool) -> bool:
        """An ack or nack came. True when it completed a batch."""
        # Tags are opened in rising order, and a dict keeps the order.
        tags = list(takewhile(lambda each: each <= tag, self._open)) if multiple else [tag]
        completed = False
        for each in tags:
            completed |= self._settle(each, positive=positive)
        return completed

    def lost(self, result: Result) -> None:
        """The channel is gone: nothing more will be said of what is open."""
        for batch, index in self._open.values():
            batch.settle(index, result)
        for batch in self._looks:
            batch.is_looked_for = False
        self._looks.clear()
        self._open.clear()
        self._returned.clear()
        self._tags_by_route = None

    def _settle(self, tag: int, *, positive: bool) -> bool:
        entry = self._open.pop(tag, None)
        if entry is None:
            return False
        batch, index = entry
        reason = self._returned.pop(tag, None)
        if reason is not None:
            batch.settle(index, Result(Verdict.RETURNED, reason))
        else:
            batch.settle(index, _CONFIRMED if positive else _NACKED)
        if batch.open == 0:
            self._tags_by_route = None
        return batch.done
