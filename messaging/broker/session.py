"""One session with the broker, seen from the thread that does the database work.

A session is opened, used and lost; after a loss a new one is opened, so a delivery tag can
never reach another channel. Its own thread (`loop`, `channel`) keeps it alive meanwhile.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from messaging.broker import frames
from messaging.broker.address import BrokerAddress
from messaging.broker.channel import CHANNEL_NUMBER, ConfirmedChannel, Listener
from messaging.broker.confirms import UNKNOWN, Batch, Result, Verdict
from messaging.broker.depths import Found
from messaging.broker.endings import RefusedFrames
from messaging.broker.loop import BrokerLoop
from messaging.broker.topology import Topology
from messaging.broker.unacked import Unacked
from messaging.broker.wire import Delivery, Message
from messaging.errors import BrokerUnavailable, DeliveryError
from messaging.running.process import Lifetime

log = structlog.get_logger(__name__)

OPEN_LIMIT_SECONDS = 30.0
CONFIRM_LIMIT_SECONDS = 30.0
CLOSE_LIMIT_SECONDS = 1.0
LINGER_SECONDS = 1.0


class Session:
    """Belongs to one thread. `failure` tells why it was lost; then only `close` is of use."""

    def __init__(
        self, address: BrokerAddress, topology: Topology, lifetime: Lifetime, *, name: str
    ) -> None:
        self.failure: DeliveryError | None = None
        self.blocked = False
        self.did_work = False
        self.channels = 1  # one more each time it was lost over a message and opened again
        self._address = address
        self._lifetime = lifetime
        self._ready = False
        self._linger_until: float | None = None
        self._unacked = Unacked()
        self._on_arrival: Callable[[Sequence[Delivery]], None] | None = None
        self._counts: deque[int] = deque()
        self._depths: Found | None = None
        self._channel = ConfirmedChannel(
            topology,
            Listener(
                ready=self._on_ready,
                reopening=self._on_reopening,
                failed=lambda error: self._loop.fail(error),
                delivered=self._on_delivered,
                batch_done=lifetime.wake,
                blocked=self._on_blocked,
            ),
        )
        self._loop = BrokerLoop(
            address, name=name, on_open=self._channel.begin, on_lost=self._on_lost
        )

    @property
    def frame_bytes(self) -> int:
        """What one frame holds, as agreed with the broker; the headers of a message must fit."""
        return self._channel.body_max_bytes

    def open(self) -> bool:
        """Connect and declare the topology; False when asked to stop meanwhile.

        Raises BrokerUnavailable, or ConfigurationError that names the object at fault.
        """
        self._loop.start()
        opened = self.wait(lambda: self._ready, OPEN_LIMIT_SECONDS)
        self.check()
        if not opened and not self._lifetime.stopping:
            raise BrokerUnavailable(f"{self._address.described} did not finish the set-up in time")
        return opened

    def close(self) -> None:
        """Flush acks and close. What is unacked goes back to its queue."""
        self._loop.close(limit_seconds=CLOSE_LIMIT_SECONDS)
        self._unacked.close()
        self._on_arrival = None

    def check(self) -> None:
        """Raise what ended the session, if something did."""
        if self.failure:
            raise self.failure

    def submit(
        self,
        messages: Sequence[Message],
        *,
        channel: int | None = None,
        standing: Sequence[str] = (),
    ) -> Batch:
        """Send messages and return at once; `settle` waits for what the broker says of them.

        They count as confirmed only where each queue of `standing` is seen after they were
        routed: a confirm tells that a message was, not to whom. A queue that is not there ends
        the session.

        Waits while the channel is being opened again, after the broker closed it over a message.
        With `channel` (one of `channels`) they go out on that one or, if it is gone, not at all:
        UNKNOWN. So what was lost with it can be sent before them.
        """
        self.wait(lambda: self._ready, None)
        batch = Batch([message.route for message in messages], standing=standing)
        encoded = [self._encoded(message, batch, index) for index, message in enumerate(messages)]
        self._loop.call(lambda: self._send(batch, encoded, channel))
        return batch

    def settle(self, batch: Batch) -> list[Result]:
        """One result a message, in order; UNKNOWN where session, patience or process ended first.

        A blocked broker is waited for without limit: it has said that it will go on.
        """
        patience_seconds, before = CONFIRM_LIMIT_SECONDS, time.monotonic()
        while not self.wait(lambda: batch.done, 1.0):
            if self.failure or self._lifetime.stopping:
                break
            now = time.monotonic()
            patience_seconds -= 0.0 if self.blocked else now - before
            before = now
            if patience_seconds < 0:
                self._loop.call(self._give_up)
                self.wait(lambda: False, 5.0)
        if self._lifetime.stopping:
            self._linger(batch)
        results = [result or UNKNOWN for result in batch.known()]
        self.did_work |= any(result.verdict is Verdict.CONFIRMED for result in results)
        return results

    def consume(
        self,
        queue: str,
        *,
        prefetch: int,
        on_arrival: Callable[[Sequence[Delivery]], None] | None = None,
    ) -> None:
        """Subscribe; what is delivered waits, at most `prefetch` messages, until taken.

        `on_arrival` sees all of it in the broker's thread, before it can be taken; it must be
        quick and raise nothing. There is one for a session.
        """
        assert self._on_arrival is None
        self._on_arrival = on_arrival
        self._loop.call(lambda: self._channel.consume(queue, prefetch))

    def has_arrived(self) -> bool:
        """Whether `take` would give something."""
        return bool(self._unacked)

    def take(self, limit: int, *, limit_bytes: int) -> list[Delivery]:
        """What has been delivered, oldest first, waiting for nothing.

        At most `limit`, and no more once their bodies have reached `limit_bytes`. Raises
        BrokerUnavailable when one that was put aside on disk is lost: the next session brings it.
        """
        try:
            return self._unacked.take(limit, limit_bytes=limit_bytes)
        except OSError as error:
            raise BrokerUnavailable(f"a large body could not be kept on disk: {error}") from error

    def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these: in one range as far as nothing unsettled lies between, else singly."""
        if not deliveries:
            return
        self.did_work = True
        range_to, singly = self._unacked.settle(deliveries)
        self._loop.call(lambda: self._channel.ack(range_to, singly))

    def ready_count(self, queue: str) -> int | None:
        """How many messages wait undelivered in the queue; None when asked to stop meanwhile.

        Raises what ended the session, and BrokerUnavailable when no answer comes in time.
        """
        self._counts.clear()
        self._loop.call(lambda: self._channel.count(queue, self._on_count))
        if self.wait(lambda: self._counts, CONFIRM_LIMIT_SECONDS):
            return self._counts.popleft()
        self.check()
        if self._lifetime.stopping:
            return None
        raise BrokerUnavailable("the broker did not count its messages in time")

    def ask_depths(self, queues: Sequence[str]) -> None:
        """Ask how many messages wait undelivered in each queue, and wait for nothing."""
        self._loop.call(lambda: self._channel.depths(queues, self._on_depths))

    def has_depths(self) -> bool:
        """Whether `take_depths` would give an answer."""
        return self._depths is not None

    def take_depths(self) -> Found | None:
        """The answer, once; None while there is none."""
        depths, self._depths = self._depths, None
        return depths

    def wait(
        self, ready: Callable[[], object], seconds: float | None, *, fileno: int | None = None
    ) -> bool:
        """Wait in the caller's thread until `ready()`; False when lost, stopping or too late."""
        answer = False

        def look() -> object:
            nonlocal answer
            answer = bool(ready())  # once a look: a bell that was heard does not ring again
            return answer or self.failure

        self._lifetime.wait_until(look, seconds, fileno=fileno)
        return answer

    def _send(self, batch: Batch, encoded: Sequence[bytes | None], channel: int | None) -> None:
        if channel is not None and channel != self.channels:
            batch.settle_rest(UNKNOWN)
            self._lifetime.wake()
        else:
            self._channel.send(batch, encoded)

    def _encoded(self, message: Message, batch: Batch, index: int) -> bytes | None:
        try:
            return frames.publish_frames(
                message,
                channel_number=CHANNEL_NUMBER,
                body_max_bytes=self._channel.body_max_bytes,
            )
        except frames.Unencodable as error:
            batch.settle(index, Result(Verdict.UNENCODABLE, str(error)))
            return None

    def _linger(self, batch: Batch) -> None:
        """Wait past the stop signal: what the broker has taken may be confirmed in a moment."""
        if self._linger_until is None:
            self._linger_until = time.monotonic() + LINGER_SECONDS
        while time.monotonic() < self._linger_until:
            if batch.done or self.failure or self.blocked:
                return
            time.sleep(0.01)

    def _give_up(self) -> None:
        self._loop.fail(BrokerUnavailable("the broker did not confirm in time"))

    def _on_ready(self) -> None:
        self._ready = True
        self._lifetime.wake()

    def _on_reopening(self) -> None:
        self._ready = False
        self.channels += 1

    def _on_lost(self, error: DeliveryError) -> None:
        # First what became of each message: who sees the failure reads that at once.
        self._channel.lost(suspect=isinstance(error, RefusedFrames))
        self.failure = error
        self._lifetime.wake()

    def _on_delivered(self, deliveries: Sequence[Delivery]) -> None:
        on_arrival = self._on_arrival  # `close` may forget it meanwhile
        if on_arrival:
            on_arrival(deliveries)
        for delivery in deliveries:
            self._unacked.arrived(delivery)
        self._lifetime.wake()

    def _on_blocked(self, blocked: bool) -> None:
        self.blocked = blocked
        log.warning("broker blocked" if blocked else "broker unblocked")
        self._lifetime.wake()

    def _on_count(self, count: int) -> None:
        self._counts.append(count)
        self._lifetime.wake()

    def _on_depths(self, depths: Found) -> None:
        self._depths = depths
        self._lifetime.wake()
