"""A network between a client and its broker that a test can hold still or cut."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dev.free_ports import LOOPBACK


class TcpProxy:
    """Passes bytes on in both directions until told otherwise."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server = socket.create_server((LOOPBACK, 0))
        self.port: int = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._answers_flow = threading.Event()
        self._answers_flow.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_answers(self) -> None:
        """What the broker says is kept back; what it is told still reaches it."""
        self._answers_flow.clear()

    def release_answers(self) -> None:
        self._answers_flow.set()

    def cut(self) -> None:
        """Break every connection."""
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()
        self._answers_flow.set()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            broker = socket.create_connection((LOOPBACK, self._target_port))
            self._sockets += client, broker
            for source, sink, gate in (
                (client, broker, None),
                (broker, client, self._answers_flow),
            ):
                threading.Thread(target=_pump, args=(source, sink, gate), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, gate: threading.Event | None) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            if gate is not None:
                gate.wait()
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def tcp_proxy(target_port: int) -> Iterator[TcpProxy]:
    """Open until the block ends."""
    proxy = TcpProxy(target_port)
    try:
        yield proxy
    finally:
        proxy.close()
