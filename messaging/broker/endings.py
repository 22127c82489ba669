"""Why a connection ended, or never opened: worth waiting for, or a lasting fault.

Goes by reply codes and exception types, and by words (`refusal_words`) for a limit that is reached
alone.
"""

import ssl

import pika.exceptions
from pika.adapters.utils import connection_workflow

from messaging.broker.address import BrokerAddress
from messaging.broker.refusal_words import is_at_limit
from messaging.errors import BrokerUnavailable, ConfigurationError, DeliveryError

# What the broker answers when waiting cannot help: wrong password or no right (403), no such
# virtual host or no access to it (530, 404), a feature that this broker lacks (540).
LASTING_CODES = {
    403: "check user and password; guest is let in from the broker's own host alone",
    404: "check the virtual host",
    530: "check the virtual host, and the user's rights there",
    540: "this needs a newer RabbitMQ",
}

# What it answers to frames that it cannot take: frame, syntax, command and internal error. It
# names no message, and to send the same ones again would end the next connection too.
REFUSED_FRAMES_CODES = frozenset({501, 502, 503, 541})


class RefusedFrames(BrokerUnavailable):
    """The broker closed the connection over something that was sent to it."""


class UnreadableFrame(Exception):
    """pika could not make sense of what came; the text names the class of its error."""


def judge(error: BaseException, address: BrokerAddress) -> DeliveryError:
    """The end of a connection to that address, as what its user has to do about it."""
    root = _root(error)
    if isinstance(root, pika.exceptions.ConnectionClosedByBroker):
        said = f"the broker at {address.described} said {root.reply_code} {root.reply_text}"
        if is_at_limit(root.reply_code, root.reply_text):
            return BrokerUnavailable(said)
        if remedy := LASTING_CODES.get(root.reply_code):
            return ConfigurationError(f"{said}; {remedy}")
        if root.reply_code in REFUSED_FRAMES_CODES:
            return RefusedFrames(said)
        return BrokerUnavailable(said)
    if isinstance(root, ssl.SSLCertVerificationError):
        return ConfigurationError(
            f"the certificate of {address.described} was not accepted: {root.verify_message}"
        )
    if isinstance(root, ssl.SSLError) and root.reason in _NOT_TLS:
        return ConfigurationError(f"no TLS at {address.described}: {root.reason}")
    if isinstance(root, UnreadableFrame):
        return BrokerUnavailable(
            f"a message from {address.described} cannot be read ({root}); if that goes on, "
            "docs/operating.md tells how to get past it"
        )
    return BrokerUnavailable(f"no connection to {address.described}: {_words(root)}")


_NOT_TLS = {"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}


def _root(error: BaseException) -> BaseException:
    while True:
        inner: object
        if isinstance(error, connection_workflow.AMQPConnectionWorkflowFailed):
            inner = error.exceptions[-1] if error.exceptions else None
        elif isinstance(error, connection_workflow.AMQPConnectorPhaseErrorBase):
            inner = error.exception
        else:
            inner = error.args[0] if error.args else None
        if not isinstance(inner, BaseException):
            return error
        error = inner


def _words(error: BaseException) -> str:
    if isinstance(error, _LATE):
        return "timed out"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, pika.exceptions.StreamLostError):
        return "the connection was lost"
    if isinstance(error, pika.exceptions.AMQPHeartbeatTimeout):
        return "the broker missed its heartbeats"
    return type(error).__name__


_LATE = (
    TimeoutError,
    connection_workflow.AMQPConnectorStackTimeout,
    pika.exceptions.ConnectionOpenAborted,  # by pika's own limit on the handshake
)
