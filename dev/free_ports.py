"""Ports on the loopback interface that nobody listens on."""

import random
import socket
import time

LOOPBACK = "127.0.0.1"


# Below the ports that systems give to outgoing connections: a client that keeps trying a server
# that is down would sooner or later be given that very port, and be connected to itself.
_RANGE = range(15_000, 32_000)


def free_port(*, preferred: int | None = None, patience_seconds: float = 0) -> int:
    """A TCP port that could be bound a moment ago: the preferred one where that is possible,
    if need be after waiting for whoever held it to be gone."""
    until = time.monotonic() + patience_seconds
    while preferred is not None:
        if is_free(preferred):
            return preferred
        if time.monotonic() >= until:
            break
        time.sleep(0.05)
    # Not the seeded generator: test workers with one seed would all take the same port.
    candidates = random.SystemRandom().sample(_RANGE, k=len(_RANGE))
    return next(port for port in candidates if is_free(port))


def next_free_port(first: int) -> int:
    """The first free port from there on: for addresses that people type."""
    return next(port for port in range(first, 65_536) if is_free(port))


def is_free(port: int) -> bool:
    """Whether a server could listen there; one that already does on any interface says no."""
    return _can_bind("", port) and _can_bind(LOOPBACK, port)


def _can_bind(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
