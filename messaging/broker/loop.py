"""One connection and its I/O loop, in a thread of its own.

The loop answers heartbeats whatever the main thread does. No pika object is touched outside
this thread; the main thread hands work over with `call`.
"""

import socket
import threading
from collections.abc import Callable

import pika
import pika.exceptions
import structlog
from pika.adapters.select_connection import IOLoop, SelectConnection

from messaging.broker.address import BrokerAddress
from messaging.broker.endings import UnreadableFrame, judge
from messaging.errors import BrokerUnavailable, DeliveryError

log = structlog.get_logger(__name__)

CONNECT_LIMIT_SECONDS = 10


class BrokerLoop:
    """Runs one connection from its opening to its end.

    `on_open(connection)` and `on_lost(error)` are called in the loop's thread; `on_lost` once,
    also when the connection never opened. A loop is used once.
    """

    def __init__(
        self,
        address: BrokerAddress,
        *,
        name: str,
        on_open: Callable[[SelectConnection], None],
        on_lost: Callable[[DeliveryError], None],
    ) -> None:
        self._address = address
        self._name = name
        self._on_open = on_open
        self._on_lost = on_lost
        self._loop = IOLoop()
        self._connection: _Connection | None = None
        self._lost = False
        self._thread = threading.Thread(target=self._run, name=f"broker {name}", daemon=True)

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def call(self, function: Callable[[], None]) -> None:
        """Run it in the loop's thread soon; silently not, once the loop is over."""
        try:
            self._loop.add_callback_threadsafe(function)
        except Exception:  # noqa: BLE001  # a closed loop raises what its poller happens to raise
            log.debug("the broker loop is over")

    def fail(self, error: DeliveryError) -> None:
        """End the connection because of this error. To be called in the loop's thread."""
        self._lose(error)
        self._abort()

    def close(self, *, limit_seconds: float) -> None:
        """Close in good order within the limit, or drop the connection."""
        self.call(self._close)
        self._thread.join(limit_seconds)
        if self._thread.is_alive():
            # A blocked or frozen broker never answers Connection.Close.
            self.call(self._abort)
            self._thread.join(0.5)

    def _run(self) -> None:
        try:
            self._connection = _Connection(
                _parameters(self._address, self._name),
                on_open_callback=self._opened,
                on_open_error_callback=self._ended,
                on_close_callback=self._ended,
                custom_ioloop=self._loop,
            )
            self._loop.start()
        except DeliveryError as error:
            self._lose(error)
        except Exception as error:  # whatever breaks the loop ends the session
            log.exception("the broker connection broke")
            self._lose(BrokerUnavailable(f"the connection broke: {type(error).__name__}"))
        finally:
            self._lose(BrokerUnavailable("the connection was closed"))
            self._close_socket()
            self._loop.close()

    def _opened(self, connection: SelectConnection) -> None:
        self._on_open(connection)

    def _ended(self, connection: "_Connection", error: BaseException) -> None:
        self._lose(judge(connection.cause or error, self._address))
        self._loop.stop()

    def _lose(self, error: DeliveryError) -> None:
        if not self._lost:
            self._lost = True
            self._on_lost(error)

    def _close(self) -> None:
        connection = self._connection
        if connection is None or connection.is_closed or connection.is_closing:
            self._loop.stop()
        elif connection.is_open:
            connection.close()
        else:
            self._abort()

    def _abort(self) -> None:
        self._loop.stop()

    def _close_socket(self) -> None:
        transport = getattr(self._connection, "_transport", None)
        sock = getattr(transport, "_sock", None)
        if sock is not None:
            sock.close()


class _Connection(SelectConnection):  # type: ignore[misc]  # pika is untyped to mypy
    """Keeps the first cause of an end; pika replaces some by a guess in words."""

    cause: BaseException | None = None

    def _proto_connection_lost(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, OSError | pika.exceptions.AMQPError):
            self.cause = self.cause or UnreadableFrame(type(error).__name__)
        super()._proto_connection_lost(error)

    def _on_stream_terminated(self, error: Exception | None) -> None:
        self.cause = self.cause or error or self._error
        super()._on_stream_terminated(error)


def _parameters(address: BrokerAddress, name: str) -> pika.ConnectionParameters:
    return pika.ConnectionParameters(
        host=address.host,
        port=address.port,
        virtual_host=address.vhost,
        credentials=pika.PlainCredentials(address.user, address.password, erase_on_connect=True),
        heartbeat=address.heartbeat_seconds,
        blocked_connection_timeout=None,  # A blocked broker is waited for; see Session.blocked.
        socket_timeout=CONNECT_LIMIT_SECONDS,
        stack_timeout=CONNECT_LIMIT_SECONDS,
        connection_attempts=1,
        ssl_options=_tls(address),
        tcp_options=_KEEPALIVE,
        client_properties={"product": "catalogsite", "connection_name": name},
    )


def _tls(address: BrokerAddress) -> pika.SSLOptions | None:
    context = address.tls_context()
    return pika.SSLOptions(context, address.server_name or address.host) if context else None


# No TCP_USER_TIMEOUT: a broker under a memory alarm does not read, and would be taken for dead.
# One that is dead is noticed by its heartbeats.
_KEEPALIVE = {
    option: value
    for option, value in {
        "TCP_KEEPIDLE": 30,
        "TCP_KEEPINTVL": 10,
        "TCP_KEEPCNT": 3,
    }.items()
    if hasattr(socket, option)
}
