"""Declaring the topology on a channel, one object after another, and what a refusal means."""

from collections.abc import Callable, Iterator
from typing import Any

from pika.channel import Channel

from messaging.broker.topology import Binding, Exchange, Queue, Step, Topology
from messaging.errors import BrokerUnavailable, ConfigurationError, DeliveryError

# A declaration that ends like this will end like this again: no right (403), held by another
# connection alone (405), declared otherwise or with an argument that the broker refuses (406).
LASTING_CODES = {
    403: "grant the user this right",
    405: "another connection holds it for itself",
    406: "nothing is re-created silently: set back what was changed, or empty and delete it",
}


def declare(
    channel: Channel, step: Step, *, answered: Callable[[Any], object], passive: bool = False
) -> None:
    """Ask the broker for this object, or with `passive` only whether it is there.

    `answered` gets the frame of its answer; a refusal closes the channel. A binding cannot be
    asked for.
    """
    match step:
        case Exchange(name, kind):
            channel.exchange_declare(
                name, exchange_type=kind, durable=True, passive=passive, callback=answered
            )
        case Queue(name, arguments):
            channel.queue_declare(
                name,
                durable=True,
                arguments=dict(arguments),
                passive=passive,
                callback=answered,
            )
        case Binding(queue, exchange, routing_key):
            assert not passive
            channel.queue_bind(queue, exchange, routing_key=routing_key, callback=answered)


class Declaring:
    """The topology on its way to the broker, once for a connection, whatever its channels."""

    def __init__(self, topology: Topology) -> None:
        self._steps: Iterator[Step] = iter(topology)
        self._step: Step | None = None

    def go_on(self, channel: Channel, *, done: Callable[[], None]) -> None:
        """Declare what is left, in order, and tell when all of it stands."""
        self._step = next(self._steps, None)
        if self._step is None:
            done()
        else:
            declare(channel, self._step, answered=lambda _frame: self.go_on(channel, done=done))

    def fault(self, code: int, said: str) -> DeliveryError:
        """What it means that the broker closed the channel over the object asked for last."""
        step = self._step
        wants = ""
        if isinstance(step, Queue):
            arguments = {"durable": True, **step.arguments}
            wants = " wants " + ", ".join(f"{key}={value}" for key, value in arguments.items())
        elif isinstance(step, Exchange):
            wants = f" wants type={step.kind}, durable=True"
        text = f"{step}{wants}; {said}"
        if remedy := LASTING_CODES.get(code):
            return ConfigurationError(f"{text}; {remedy}")
        return BrokerUnavailable(text)
