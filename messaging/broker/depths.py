"""How many messages lie ready in queues, asked on a channel of its own.

A queue that is missing makes the broker close the channel on which it was asked for; so it is
not the one that publishes.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pika.exceptions
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from messaging.broker.refusal_words import is_gone

CHANNEL_NUMBER = 2

# By the name of each queue that was asked for: its ready messages; None where there is no such
# queue. One that stands, but cannot be seen now, is left out.
Found = Mapping[str, int | None]


@dataclass
class _Question:
    names: deque[str]  # those still to be asked for
    reply: Callable[[Found], None]
    found: dict[str, int | None] = field(default_factory=dict)


class Depths:
    """Belongs to the broker's thread and to one connection; answers one question at a time."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._questions: deque[_Question] = deque()

    def ask(
        self, connection: SelectConnection, names: Sequence[str], reply: Callable[[Found], None]
    ) -> None:
        """Reply once all are known, each as it was seen after this call."""
        self._questions.append(_Question(deque(names), reply))
        if len(self._questions) > 1:
            return
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
        while self._questions and not self._questions[0].names:
            question = self._questions.popleft()
            question.reply(question.found)
        if self._questions and self._channel is not None and self._channel.is_open:
            name = self._questions[0].names[0]
            self._channel.queue_declare(name, passive=True, callback=self._answered)

    def _answered(self, frame: "pika.frame.Method[pika.spec.Queue.DeclareOk]") -> None:
        question = self._questions[0]
        question.found[question.names.popleft()] = frame.method.message_count
        self._ask_next()

    def _closed(self, channel: Channel, reason: Exception) -> None:
        self._channel = None
        if not isinstance(reason, pika.exceptions.ChannelClosedByBroker):
            return  # The connection is over.
        if self._questions:
            question = self._questions[0]
            name = question.names.popleft()
            if is_gone(reason.reply_code, reason.reply_text):
                question.found[name] = None
        # In a later turn of the loop: pika still holds the number of the channel that was closed.
        channel.connection.ioloop.add_callback(lambda: self._open(channel.connection))
