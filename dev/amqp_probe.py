"""Asks a port whether an AMQP broker is there, by the protocol: an open port proves nothing."""

import socket
import ssl
import struct
from contextlib import closing
from enum import Enum, auto

_HEADER = b"AMQP\x00\x00\x09\x01"
_METHOD, _CHANNEL_ZERO, _FRAME_END = 1, 0, b"\xce"
_START, _START_OK, _TUNE, _TUNE_OK = (10, 10), (10, 11), (10, 30), (10, 31)
_OPEN, _OPEN_OK, _CLOSE = (10, 40), (10, 41), (10, 50)
_LARGEST_FRAME = 131_072


class Answer(Enum):
    """What became of an attempt to log in."""

    WELCOME = auto()
    REFUSED = auto()  # a broker, but not for this user or this virtual host
    SILENT = auto()  # nobody there, or something that does not speak AMQP


def speaks_amqp(host: str, port: int, *, timeout_seconds: float = 2) -> bool:
    """Whether the peer answers the protocol header with Connection.Start."""
    try:
        with socket.create_connection((host, port), timeout=timeout_seconds) as peer:
            peer.sendall(_HEADER)
            return _read_method(peer) == _START
    except (OSError, _NotAmqp):
        return False


def log_in(
    host: str,
    port: int,
    *,
    user: str,
    password: str,
    vhost: str,
    tls: ssl.SSLContext | None = None,
    server_name: str | None = None,
    timeout_seconds: float = 3,
) -> Answer:
    """Open a connection as this user on this virtual host, and close it again."""
    try:
        peer = socket.create_connection((host, port), timeout=timeout_seconds)
        if tls is not None:
            peer = tls.wrap_socket(peer, server_hostname=server_name or host)
    except OSError:
        return Answer.SILENT
    with closing(peer):
        try:
            peer.sendall(_HEADER)
            if _read_method(peer) != _START:
                return Answer.SILENT
        except (OSError, _NotAmqp):
            return Answer.SILENT
        try:
            return _introduce(peer, user=user, password=password, vhost=vhost)
        except (OSError, _NotAmqp):
            # RabbitMQ hangs up on a wrong password.
            return Answer.REFUSED


class _NotAmqp(Exception):
    """The peer said something that is no AMQP method frame, or hung up."""


def _introduce(peer: socket.socket, *, user: str, password: str, vhost: str) -> Answer:
    credentials = b"\0" + user.encode() + b"\0" + password.encode()
    no_properties = struct.pack(">I", 0)
    _send(
        peer,
        _START_OK,
        no_properties + _short("PLAIN") + _long(credentials) + _short("en_US"),
    )
    method, limits = _read_frame(peer)
    if method != _TUNE:
        return Answer.REFUSED
    _send(peer, _TUNE_OK, limits)
    _send(peer, _OPEN, _short(vhost) + _short("") + b"\0")
    if _read_method(peer) != _OPEN_OK:
        return Answer.REFUSED
    _send(peer, _CLOSE, struct.pack(">H", 200) + _short("") + struct.pack(">HH", 0, 0))
    _read_method(peer)
    return Answer.WELCOME


def _send(peer: socket.socket, method: tuple[int, int], arguments: bytes) -> None:
    payload = struct.pack(">HH", *method) + arguments
    peer.sendall(struct.pack(">BHI", _METHOD, _CHANNEL_ZERO, len(payload)) + payload + _FRAME_END)


def _read_method(peer: socket.socket) -> tuple[int, int]:
    method, _ = _read_frame(peer)
    return method


def _read_frame(peer: socket.socket) -> tuple[tuple[int, int], bytes]:
    """The method and its arguments, still packed."""
    kind, channel, size = struct.unpack(">BHI", _read(peer, 7))
    if (kind, channel) != (_METHOD, _CHANNEL_ZERO) or not 4 <= size <= _LARGEST_FRAME:
        raise _NotAmqp
    payload = _read(peer, size + 1)
    if payload[-1:] != _FRAME_END:
        raise _NotAmqp
    class_id, method_id = struct.unpack(">HH", payload[:4])
    return (class_id, method_id), payload[4:-1]


def _read(peer: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = peer.recv(size - len(received))
        if not part:
            raise _NotAmqp
        received += part
    return received


def _short(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">B", len(data)) + data


def _long(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
