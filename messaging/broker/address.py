"""Where the broker is: AMQP_URL taken apart, checked, and safe to show.

Read by the settings at start and handed to messaging.broker.session. The password leaves
this value through the attribute `password` alone, never through str() or repr().
"""

import ssl
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote

from messaging.broker.url_parts import (
    read_credentials,
    read_host_and_port,
    read_options,
    read_vhost,
)
from messaging.errors import ConfigurationError

DEFAULT_HEARTBEAT_SECONDS = 10


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
        user, password = read_credentials(userinfo) if at else ("guest", "guest")
        host, port = read_host_and_port(location)
        return cls(
            host=host,
            port=port or (5671 if tls else 5672),
            vhost=read_vhost(path),
            user=user,
            password=password,
            tls=tls,
            **read_options(query, tls=tls) if question_mark else {},
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


def _no_passphrase() -> str:
    raise ValueError("the key is encrypted; give one without a passphrase")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
