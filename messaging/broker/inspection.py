"""Looking at the broker without changing it: depths of queues, and whether objects stand.

AMQP has no question for a binding.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pika.exceptions
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

from messaging.broker.address import BrokerAddress
from messaging.broker.declaring import declare
from messaging.broker.loop import BrokerLoop
from messaging.broker.refusal_words import is_gone
from messaging.broker.topology import Binding, Queue, Step, Topology
from messaging.errors import BrokerUnavailable, ConfigurationError, DeliveryError
from messaging.running.process import Lifetime


@dataclass(frozen=True)
class QueueDepth:
    """Messages ready for delivery, and consumers subscribed, at one moment."""

    ready: int
    consumers: int


@dataclass(frozen=True)
class Difference:
    """An object that is missing or stands otherwise, in the broker's words."""

    step: Step
    said: str

    def __str__(self) -> str:
        return f"{self.step}: {self.said}"


def inspect_queues(
    address: BrokerAddress, names: Sequence[str], *, timeout_seconds: float
) -> dict[str, QueueDepth | None]:
    """The depth of each queue, None where there is none; on a short-lived connection.

    Raises BrokerUnavailable, also when the time is over and where a queue cannot be seen now, or
    ConfigurationError.
    """
    questions = [_Question(Queue(name), passive=True) for name in names]
    _ask(address, questions, timeout_seconds)
    for each in questions:
        if each.refusal and not each.is_gone:
            raise BrokerUnavailable(f"{each.step} cannot be seen now: {each.refusal}")
    return {
        each.step.name: None if each.frame is None else _depth(each.frame)
        for each in questions
        if isinstance(each.step, Queue)
    }


def differences(
    address: BrokerAddress,
    topology: Topology,
    *,
    timeout_seconds: float,
    lifetime: Lifetime | None = None,
) -> list[Difference]:
    """What of the topology is missing or declared otherwise; changes nothing.

    Raises BrokerUnavailable, also when the time is over or the lifetime is, or ConfigurationError.

    An object that stands is declared again as we want it, which the broker refuses when it
    differs and which changes nothing when it does not.
    """
    steps = [step for step in topology if not isinstance(step, Binding)]
    passive = [_Question(step, passive=True) for step in steps]
    _ask(address, passive, timeout_seconds, lifetime)
    found = [Difference(each.step, each.refusal) for each in passive if each.refusal]
    standing = [_Question(each.step, passive=False) for each in passive if not each.refusal]
    _ask(address, standing, timeout_seconds, lifetime)
    return found + [Difference(each.step, each.refusal) for each in standing if each.refusal]


@dataclass
class _Question:
    step: Step
    passive: bool
    frame: object = None
    refusal: str = ""
    is_gone: bool = False


@dataclass
class _Answers:
    """Asks one question after another on one connection, a new channel after each refusal."""

    questions: Sequence[_Question]
    on_finished: Callable[[], object]
    finished: threading.Event = field(default_factory=threading.Event)
    failure: DeliveryError | None = None
    _next: int = 0
    _connection: SelectConnection | None = None

    def begin(self, connection: SelectConnection) -> None:
        self._connection = connection
        self._open_channel()

    def lost(self, error: DeliveryError) -> None:
        if not self.finished.is_set():
            self.failure = error
            self._finish()

    def _finish(self) -> None:
        self.finished.set()
        self.on_finished()

    def _open_channel(self) -> None:
        assert self._connection is not None
        self._connection.channel(on_open_callback=self._opened)

    def _opened(self, channel: Channel) -> None:
        channel.add_on_close_callback(self._refused)
        self._ask_next(channel)

    def _ask_next(self, channel: Channel) -> None:
        if self._next >= len(self.questions):
            self._finish()
            return
        question = self.questions[self._next]

        def answered(frame: object) -> None:
            question.frame = getattr(frame, "method", None)
            self._next += 1
            self._ask_next(channel)

        declare(channel, question.step, answered=answered, passive=question.passive)

    def _refused(self, _channel: Channel, reason: Exception) -> None:
        if self.finished.is_set() or not isinstance(reason, pika.exceptions.ChannelClosedByBroker):
            return
        self.questions[self._next].refusal = f"{reason.reply_code} {reason.reply_text}"
        self.questions[self._next].is_gone = is_gone(reason.reply_code, reason.reply_text)
        if reason.reply_code == 403:
            self.failure = ConfigurationError(
                f"{self.questions[self._next].step}: the broker said {reason.reply_code} "
                f"{reason.reply_text}"
            )
            self._finish()
            return
        self._next += 1
        self._open_channel()


def _ask(
    address: BrokerAddress,
    questions: Sequence[_Question],
    timeout_seconds: float,
    lifetime: Lifetime | None = None,
) -> None:
    if not questions:
        return
    answers = _Answers(questions, on_finished=lifetime.wake if lifetime else lambda: None)
    loop = BrokerLoop(address, name="inspect", on_open=answers.begin, on_lost=answers.lost)
    loop.start()
    try:
        if lifetime is None:
            answers.finished.wait(timeout_seconds)
        else:
            lifetime.wait_until(answers.finished.is_set, timeout_seconds)
        if not answers.finished.is_set():
            raise BrokerUnavailable(f"{address.described} did not answer in time")
        if answers.failure:
            raise answers.failure
    finally:
        loop.close(limit_seconds=0.5)


def _depth(frame: object) -> QueueDepth:
    return QueueDepth(
        ready=int(getattr(frame, "message_count", 0)),
        consumers=int(getattr(frame, "consumer_count", 0)),
    )
