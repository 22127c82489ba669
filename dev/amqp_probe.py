"""Asks a port whether an AMQP broker is there, by the protocol: an open port proves nothing."""

import socket

_HEADER = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME_ON_CHANNEL_ZERO = b"\x01\x00\x00"


def speaks_amqp(host: str, port: int, *, timeout_seconds: float = 2) -> bool:
    """Whether the peer answers the protocol header with Connection.Start."""
    try:
        with socket.create_connection((host, port), timeout=timeout_seconds) as peer:
            peer.settimeout(timeout_seconds)
            peer.sendall(_HEADER)
            return peer.recv(11)[:3] == _METHOD_FRAME_ON_CHANNEL_ZERO
    except OSError:
        return False
