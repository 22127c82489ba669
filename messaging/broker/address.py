"""Where the broker is: AMQP_URL taken apart, checked, and safe to show.

Read by the settings at start and handed to messaging.broker.session. The password leaves
this value through the attribute `password` alone, never through str() or repr().
"""

import re
import ssl
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address
from typing import Any, Self
from urllib.parse import quote, unquote_to_bytes

from messaging.errors import ConfigurationError

DEFAULT_HEARTBEAT_SECONDS = 10
MAX_HEARTBEAT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """One broker, one virtual host, one user. `str()` and `described` name no user."""

    host: str
    port: int
    vhost: str
    user: str
    password: str = field(repr=False)
    tls: bool = False
    heartbeat_seconds: int = DEFAULT_HEARTBEAT_SECONDS
    cacertfile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    server_name: str | None = None

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read `amqp://user:password@host:port/vhost?heartbeat=10`, or `amqps://…`.

        User, password and vhost are percent-decoded. No path, `/` and `/%2F` all mean the
        vhost `/`. Options: `heartbeat` in seconds; for amqps also `cacertfile`, `certfile`,
        `keyfile` and `server_name_indication`. Raises ConfigurationError, whose text quotes
        nothing of the URL, since a mistyped password can end up in any part of it.
        """
        if not url:
            raise ConfigurationError("is empty")
        if not url.isprintable() or " " in url:
            raise ConfigurationError("has a space or an unprintable character in it")
        scheme, separator, rest = url.partition("://")
        if not separator or scheme.lower() not in ("amqp", "amqps"):
            raise ConfigurationError("must start with amqp:// or amqps://")
        tls = scheme.lower() == "amqps"
        if "#" in rest:
            raise ConfigurationError("has a '#' in it: inside a name or password write %23")
        rest, question_mark, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        userinfo, at, location = authority.rpartition("@")
        if "@" in userinfo or "@" in path:
            raise ConfigurationError(
                "has an '@' out of place: inside a name or password write %40, for '/' write %2F"
            )
        user, password = _credentials(userinfo) if at else ("guest", "guest")
        host, port = _host_and_port(location)
        return cls(
            host=host,
            port=port or (5671 if tls else 5672),
            vhost=_vhost(path),
            user=user,
            password=password,
            tls=tls,
            **_options(query, tls=tls) if question_mark else {},
        )

    @property
    def described(self) -> str:
        """The address without user and password, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "amqps" if self.tls else "amqp"
        return f"{scheme}://{host}:{self.port}/{quote(self.vhost, safe='')}"

    def __str__(self) -> str:
        return self.described

    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS context of an amqps address: certificate and host name are always verified.

        None for amqp. Raises ConfigurationError for a file that cannot be read or used.
        """
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.cacertfile)
        except OSError as error:
            raise ConfigurationError(f"cacertfile cannot be used: {_reason(error)}") from error
        if self.certfile:
            try:
                context.load_cert_chain(self.certfile, self.keyfile, password=_no_passphrase)
            except (OSError, ValueError) as error:
                raise ConfigurationError(
                    f"certfile or keyfile cannot be used: {_reason(error)}"
                ) from error
        return context


def _credentials(userinfo: str) -> tuple[str, str]:
    user, colon, password = userinfo.partition(":")
    if not user:
        raise ConfigurationError("has an empty user name before the '@'")
    if not colon or not password:
        raise ConfigurationError("names a user but no password")
    return _decode(user, part="user name"), _decode(password, part="password")


def _host_and_port(location: str) -> tuple[str, int | None]:
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


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise ConfigurationError(
            "needs a port from 1 to 65535 after the host"
            " (inside a password write ':' as %3A and '/' as %2F)"
        )
    return int(text)


def _vhost(path: str) -> str:
    if "/" in path:
        raise ConfigurationError("has a '/' inside the vhost: write it as %2F")
    vhost = _decode(path, part="vhost") or "/"
    if len(vhost.encode()) > 255:
        raise ConfigurationError("has a vhost of more than 255 bytes")
    return vhost


_TLS_OPTIONS = {
    "cacertfile": "cacertfile",
    "certfile": "certfile",
    "keyfile": "keyfile",
    "server_name_indication": "server_name",
}


def _options(query: str, *, tls: bool) -> dict[str, Any]:
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


def _no_passphrase() -> str:
    raise ValueError("the key is encrypted; give one without a passphrase")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
