"""How many messages lie ready in queues, asked on a channel of its own.

A queue that is missing makes the broker close the channel on which it was asked for; so it is
not the one that publishes.
"""

from collections.abc import Callable, Mapping, Sequence

import pika.exceptions
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

CHANNEL_NUMBER = 2


class Depths:
    """Belongs to the broker's thread and to one connection; one question at a time."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._names: list[str] = []  # those still to be asked for
        self._found: dict[str, int] = {}
        self._reply: Callable[[Mapping[str, int]], None] = lambda _: None

    def ask(
        self,
        connection: SelectConnection,
        names: Sequence[str],
        reply: Callable[[Mapping[str, int]], None],
    ) -> None:
        """Reply with the ready messages of each queue that there is, once all are known.

        Asked again before that, it goes on with the first question and replies to that alone.
        """
        if self._names:
            return
        self._names, self._found, self._reply = list(names), {}, reply
        if self._channel is None:
            self._open(connection)
        else:
            self._ask_next()

    def _open(self, connection: SelectConnection) -> None:
        if connection.is_open:
            connection.channel(CHANNEL_NUMBER, on_open_callback=self._opened)

    def _opened(self, channel: Channel) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._closed)
        self._ask_next()

    def _ask_next(self) -> None:
        if not self._names:
            self._reply(self._found)
        elif self._channel is not None and self._channel.is_open:
            self._channel.queue_declare(self._names[0], passive=True, callback=self._answered)

    def _answered(self, frame: "pika.frame.Method[pika.spec.Queue.DeclareOk]") -> None:
        self._found[self._names.pop(0)] = frame.method.message_count
        self._ask_next()

    def _closed(self, channel: Channel, reason: Exception) -> None:
        self._channel = None
        if not isinstance(reason, pika.exceptions.ChannelClosedByBroker):
            return  # The connection is over.
        if self._names:
            self._names.pop(0)  # There is no such queue.
        # In a later turn of the loop: pika still holds the number of the channel that was closed.
        channel.connection.ioloop.add_callback(lambda: self._open(channel.connection))
