"""The side of a session that lives in the broker's thread: one channel in confirm mode.

Declares the topology when it opens, sends frames, keeps the ledger of confirms, receives.
Nothing here is called from the caller's thread except through `BrokerLoop.call`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pika
import pika.exceptions
import pika.spec
import structlog
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from messaging.broker import frames, wire
from messaging.broker.confirms import SUSPECT, UNKNOWN, Batch, Ledger, Result, Verdict
from messaging.broker.declaring import LASTING_CODES, Declaring
from messaging.broker.depths import Depths, Found
from messaging.broker.refusal_words import is_one_topic
from messaging.broker.topology import Topology
from messaging.errors import BrokerUnavailable, ConfigurationError, DeliveryError

log = structlog.get_logger(__name__)

CHANNEL_NUMBER = 1


@dataclass(frozen=True)
class Listener:
    """What the channel tells, from the broker's thread; each must be quick and thread-safe."""

    ready: Callable[[], None]
    reopening: Callable[[], None]
    failed: Callable[[DeliveryError], None]
    delivered: Callable[[Sequence[wire.Delivery]], None]
    batch_done: Callable[[], None]
    blocked: Callable[[bool], None]


class ConfirmedChannel:
    """Opened by `begin`; over for good once `failed` has been told or the connection is lost.

    A channel that only publishes is opened again when the broker closes it over one message. One
    that consumes is not: its deliveries go back, and their tags must never reach another.
    """

    def __init__(self, topology: Topology, listener: Listener) -> None:
        self._declaring = Declaring(topology)
        self._listener = listener
        self._ledger = Ledger()
        self._depths = Depths()
        self._connection: SelectConnection | None = None
        self._channel: Channel | None = None
        self._queues: dict[str, str] = {}  # by the tag of the subscription
        self._arrived: list[wire.Delivery] = []
        self._ready = False
        self._consumes = False
        self.body_max_bytes = 0

    def begin(self, connection: SelectConnection) -> None:
        """The connection is open: open the channel, declare everything, select confirms."""
        self._connection = connection
        self.body_max_bytes = connection._body_max_length  # no public name for what was negotiated
        connection.add_on_connection_blocked_callback(lambda *_: self._listener.blocked(True))
        connection.add_on_connection_unblocked_callback(lambda *_: self._listener.blocked(False))
        connection.channel(channel_number=CHANNEL_NUMBER, on_open_callback=self._opened)

    def lost(self, *, suspect: bool) -> None:
        """The connection is gone; of what is unconfirmed nothing is known, or worse."""
        self._connection = self._channel = None
        self._arrived.clear()
        self._ledger.lost(SUSPECT if suspect else UNKNOWN)

    def send(self, batch: Batch, encoded: Sequence[bytes | None]) -> None:
        """Publish what could be encoded; settles the batch as unknown where there is no channel."""
        if self._channel is None or not self._channel.is_open:
            batch.settle_rest(UNKNOWN)
            self._listener.batch_done()
            return
        for index, each in enumerate(encoded):
            if each is not None:
                self._ledger.sent(batch, index)
        going = [each for each in encoded if each is not None]
        if going and batch.standing:
            # On the same channel: answered after all of them were routed.
            self._ledger.looked(batch)
            going.append(frames.look_frames(batch.standing, channel_number=CHANNEL_NUMBER))
        _write(self._channel.connection, going)
        if batch.done:
            self._listener.batch_done()

    def consume(self, queue: str, prefetch: int) -> None:
        """Subscribe to a further queue; one that is deleted later is a configuration fault."""
        if self._channel is None or not self._channel.is_open:
            return
        self._consumes = True
        if not self._queues:
            self._channel.add_on_cancel_callback(self._cancelled)
        self._channel.basic_qos(prefetch_count=prefetch)
        self._queues[self._channel.basic_consume(queue, self._delivered)] = queue

    def ack(self, range_to: int | None, singly: Sequence[int]) -> None:
        """Ack every open delivery up to `range_to`, and these."""
        if self._channel is None or not self._channel.is_open:
            return
        if range_to is not None:
            self._channel.basic_ack(range_to, multiple=True)
        if singly:
            _write(
                self._channel.connection,
                [frames.ack_frame(tag, channel_number=CHANNEL_NUMBER) for tag in singly],
            )

    def count(self, queue: str, reply: Callable[[int], None]) -> None:
        """Ask how many messages are ready in the queue; `delivered` hears of the others first."""

        def answer(frame: "pika.frame.Method[pika.spec.Queue.DeclareOk]") -> None:
            self._tell_arrived()
            reply(frame.method.message_count)

        if self._channel is not None and self._channel.is_open:
            self._channel.queue_declare(queue, passive=True, callback=answer)

    def depths(self, queues: Sequence[str], reply: Callable[[Found], None]) -> None:
        """Ask how many messages are ready in each."""
        if self._connection is not None:
            self._depths.ask(self._connection, queues, reply)

    def _opened(self, channel: Channel) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._closed)
        channel.add_on_return_callback(self._returned)
        self._declaring.go_on(channel, done=self._select)

    def _select(self) -> None:
        assert self._channel is not None
        self._channel.confirm_delivery(self._confirmed, callback=self._selected)

    def _selected(self, _frame: object) -> None:
        assert self._channel is not None
        self._channel.add_callback(self._seen, [pika.spec.Confirm.SelectOk], one_shot=False)
        self._ready = True
        self._listener.ready()

    def _seen(self, _frame: object) -> None:
        if self._ledger.seen():
            self._listener.batch_done()

    def _returned(
        self,
        _channel: Channel,
        method: pika.spec.Basic.Return,
        properties: pika.BasicProperties,
        _body: bytes,
    ) -> None:
        route = (properties.message_id or "", method.exchange, method.routing_key)
        self._ledger.returned(route, f"{method.reply_code} {method.reply_text}")

    def _confirmed(self, frame: "pika.frame.Method[pika.spec.Basic.Ack]") -> None:
        method = frame.method
        completed = self._ledger.confirmed(
            method.delivery_tag,
            multiple=method.multiple,
            positive=isinstance(method, pika.spec.Basic.Ack),
        )
        if completed:
            self._listener.batch_done()

    def _delivered(
        self,
        channel: Channel,
        method: pika.spec.Basic.Deliver,
        properties: pika.BasicProperties,
        body: bytes,
    ) -> None:
        if not self._arrived:
            # In the next turn of the loop: with all that one read of the socket brought.
            channel.connection.ioloop.add_callback(self._tell_arrived)
        queue = self._queues.get(method.consumer_tag, "")
        self._arrived.append(wire.delivery(method, properties, body, queue=queue))

    def _tell_arrived(self) -> None:
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._listener.delivered(arrived)

    def _cancelled(self, frame: "pika.frame.Method[pika.spec.Basic.Cancel]") -> None:
        # A node of a cluster that goes down cancels too: ask whether the queue is there.
        queue = self._queues.get(frame.method.consumer_tag, "")
        self.depths([queue], lambda found: self._listener.failed(_end_of(queue, found)))

    def _closed(self, channel: Channel, reason: Exception) -> None:
        self._channel = None
        if not isinstance(reason, pika.exceptions.ChannelClosedByBroker):
            return  # The connection's end tells why.
        said = f"the broker said {reason.reply_code} {reason.reply_text}"
        if not self._ready:
            self._listener.failed(self._declaring.fault(reason.reply_code, said))
        elif reason.reply_code == 403 and self._consumes:
            self._ledger.lost(UNKNOWN)
            self._listener.failed(ConfigurationError(f"{said}; {LASTING_CODES[403]}"))
        else:
            blame = _blame(reason, said)
            self._ledger.lost(blame or UNKNOWN)
            if blame and not self._consumes:
                self._reopen(channel.connection)
            else:
                self._listener.failed(BrokerUnavailable(f"the channel was closed: {said}"))

    def _reopen(self, connection: SelectConnection) -> None:
        log.warning("the broker closed the channel over a message; it is opened again")
        self._listener.reopening()
        self._listener.batch_done()
        self._ledger = Ledger()  # the tags of a channel begin at 1
        # In a later turn of the loop: pika still holds the number of the channel that was closed.
        connection.ioloop.add_callback(
            lambda: connection.channel(CHANNEL_NUMBER, on_open_callback=self._opened)
        )


def _blame(reason: pika.exceptions.ChannelClosedByBroker, said: str) -> Result | None:
    """What one message of those under way has done, and nobody knows which, nor what was stored.

    406: the broker refuses it, perhaps for its size. 403: the user may not publish it. Else it was
    no message's fault: with 404 an exchange is missing, which the next session declares.
    """
    match reason.reply_code:
        case 406:
            return Result(Verdict.SUSPECT, said)
        case 403:
            one = is_one_topic(reason.reply_code, reason.reply_text)
            verdict = Verdict.SUSPECT if one else Verdict.FORBIDDEN
            return Result(verdict, f"{said}; {LASTING_CODES[403]}")
    return None


def _end_of(queue: str, found: Found) -> DeliveryError:
    if queue in found and found[queue] is None:
        return ConfigurationError(
            f"queue {queue} was deleted while it was being consumed; nothing is "
            "re-created silently: start again to declare it"
        )
    return BrokerUnavailable(f"the broker ended the subscription to queue {queue}")


def _write(connection: SelectConnection, ready: Sequence[bytes]) -> None:
    """One write for a whole batch: 12-35 % more messages a second than one write a frame.

    `_output_marshaled_frames` is pika's own and has no public twin that takes ready frames;
    pika is pinned, and `tests/messaging/broker/test_session.py` watches over this call.
    """
    if ready:  # pika ends the connection over an empty write
        connection._output_marshaled_frames([b"".join(ready)])
