"""The parts of an AMQP URL, each read strictly; what could be misread is refused in words.

No refusal quotes anything, since a mistyped password can end up in any part.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Any
from urllib.parse import unquote_to_bytes

from messaging.errors import ConfigurationError

MAX_HEARTBEAT_SECONDS = 600

_TLS_OPTIONS = {
    "cacertfile": "cacertfile",
    "certfile": "certfile",
    "keyfile": "keyfile",
    "server_name_indication": "server_name",
}


def read_credentials(userinfo: str) -> tuple[str, str]:
    """User and password of `user:password`, decoded."""
    user, colon, password = userinfo.partition(":")
    if not user:
        raise ConfigurationError("has an empty user name before the '@'")
    if not colon or not password:
        raise ConfigurationError("names a user but no password")
    return _decode(user, part="user name"), _decode(password, part="password")


def read_host_and_port(location: str) -> tuple[str, int | None]:
    """Host (an IPv6 address without its brackets) and port, None where there is none."""
    if location.startswith("["):
        address, bracket, after = location[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise ConfigurationError("has a host that is no IPv6 address in brackets")
        try:
            host = str(IPv6Address(address))
        except AddressValueError:
            raise ConfigurationError("has a host that is no IPv6 address in brackets") from None
        return host, _port(after[1:]) if after else None
    if location.count(":") > 1:
        raise ConfigurationError("has too many ':' in the host: write an IPv6 address as [::1]")
    host, colon, port = location.partition(":")
    if not host:
        raise ConfigurationError("names no host")
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9.])?", host):
        raise ConfigurationError("has a host that is no host name or address")
    return host, _port(port) if colon else None


def read_vhost(path: str) -> str:
    """The vhost that a path without its first slash names; nothing means `/`."""
    if "/" in path:
        raise ConfigurationError("has a '/' inside the vhost: write it as %2F")
    vhost = _decode(path, part="vhost") or "/"
    if len(vhost.encode()) > 255:
        raise ConfigurationError("has a vhost of more than 255 bytes")
    return vhost


def read_options(query: str, *, tls: bool) -> dict[str, Any]:
    """The options by the names of BrokerAddress's fields."""
    known = ("heartbeat", *_TLS_OPTIONS)
    options: dict[str, Any] = {}
    for pair in query.split("&"):
        name, _, text = pair.partition("=")
        if name not in known:
            raise ConfigurationError(f"has an unknown option; known are: {', '.join(known)}")
        target = _TLS_OPTIONS.get(name, "heartbeat_seconds")
        if target in options:
            raise ConfigurationError(f"has the option {name} twice")
        value = _decode(text, part=f"option {name}")
        if not value:
            raise ConfigurationError(f"has an empty option {name}")
        if name == "heartbeat":
            options[target] = _heartbeat(value)
        elif tls:
            options[target] = value
        else:
            raise ConfigurationError(f"has the option {name}, which needs amqps://")
    if "keyfile" in options and "certfile" not in options:
        raise ConfigurationError("has the option keyfile without certfile")
    return options


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise ConfigurationError(
            "needs a port from 1 to 65535 after the host"
            " (inside a password write ':' as %3A and '/' as %2F)"
        )
    return int(text)


def _heartbeat(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MAX_HEARTBEAT_SECONDS:
        raise ConfigurationError(
            f"needs a heartbeat from 1 to {MAX_HEARTBEAT_SECONDS} seconds"
            " (without one a frozen broker would go unnoticed)"
        )
    return int(text)


def _decode(text: str, *, part: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ConfigurationError(f"has a '%' in the {part} that encodes nothing: write %25")
    try:
        decoded = unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"has a {part} that is not UTF-8") from None
    if "\0" in decoded:
        raise ConfigurationError(f"has a NUL in the {part}")
    return decoded
