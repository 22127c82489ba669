"""Which strings of the settings are secret, for messaging.running.screening to look for."""

from collections.abc import Mapping
from typing import Any

from messaging.broker.address import BrokerAddress


def known_secrets(
    *,
    secret_key: str,
    broker: BrokerAddress,
    database: Mapping[str, Any],
    urls: tuple[str, ...],
    public: tuple[str, ...],
) -> tuple[str, ...]:
    """Every secret in every way it was written, without those that everybody knows anyhow:
    a password `guest`, or one equal to the database's name, would blot out ordinary words."""
    options = database.get("OPTIONS", {})
    values = {
        secret_key,
        broker.password,
        database.get("PASSWORD", ""),
        options.get("password", ""),
        options.get("sslpassword", ""),
    }
    for url in urls:
        userinfo, at, _ = url.partition("://")[2].rpartition("@")
        if at:
            values |= {url, userinfo.partition(":")[2]}
    known = {"guest", "", broker.user, broker.host, broker.vhost, *public}
    known |= {str(database.get(key, "")) for key in ("USER", "HOST", "NAME")}
    return tuple(sorted(values - known))
