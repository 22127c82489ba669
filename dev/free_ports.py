"""Ports on the loopback interface that nobody listens on."""

import socket

LOOPBACK = "127.0.0.1"


def free_port(*, preferred: int | None = None) -> int:
    """A TCP port that could be bound a moment ago: the preferred one where that is possible."""
    if preferred is not None and is_free(preferred):
        return preferred
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a server could listen on the port, on every interface (so: nobody does on any)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
