"""DATABASE_URL turned into Django's DATABASES entry, with the timeouts that delivery rests on.

django-environ takes the URL apart; what it would bend or guess is refused or put right here.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environ import Env
from psycopg import pq

from catalogsite.environment import SettingError

# A write waits this long for another process's transaction. Below 5 s, because a process
# that waits inside SQLite cannot answer SIGTERM.
SQLITE_BUSY_SECONDS = 3.0

CONNECTION_AGE_SECONDS = 60

POSTGRES_OPTIONS = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "catalogsite",
}
# To compile a query takes longer than any query here runs.
POSTGRES_SESSION = (
    "-c statement_timeout=30000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=60000"
    " -c jit=off"
)
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


def read_database(url: str, *, name: str, root: Path) -> dict[str, Any]:
    """The DATABASES entry for a sqlite:// or postgres:// URL.

    Makes the folder of an SQLite file. Raises SettingError, which quotes nothing of the URL.
    """
    scheme, separator, _ = url.partition("://")
    if separator and scheme == "sqlite":
        return _sqlite(url, name=name, root=root)
    if separator and scheme in ("postgres", "postgresql"):
        return _postgresql(url, name=name)
    raise SettingError(name, "must start with sqlite:/// or postgres://")


def _sqlite(url: str, *, name: str, root: Path) -> dict[str, Any]:
    rest = url.removeprefix("sqlite://")
    if "?" in rest or "#" in rest:
        raise SettingError(name, "takes no options after an SQLite file; write '?' as %3F")
    if not rest.startswith("/") or rest == "/":
        raise SettingError(
            name,
            "must name a file: sqlite:///var/catalog.sqlite3 in the project,"
            " or sqlite:////srv/catalog.sqlite3 with four slashes for an absolute path",
        )
    path = root / _decode(rest[1:], name=name)
    if path.name == ":memory:":
        raise SettingError(name, "must name a file: the processes share one database")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(name, f"names a folder that cannot be made: {error.strerror}") from error
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise SettingError(name, f"names a file that cannot be: {error.strerror}") from error
    if is_folder:
        raise SettingError(name, "names a folder, not a file")
    return {
        "ENGINE": "catalogsite.sqlite3",
        "NAME": str(path),
        "CONN_MAX_AGE": CONNECTION_AGE_SECONDS,
        "OPTIONS": {
            "timeout": SQLITE_BUSY_SECONDS,
            "transaction_mode": "IMMEDIATE",
            # FULL: in WAL mode a lesser level may lose a commit when the power goes, after
            # the broker has already been told that the message is settled.
            "init_command": "PRAGMA synchronous=FULL;",
        },
        "TEST": {"NAME": str(path.with_name(f"test-{path.name}"))},
    }


def _postgresql(url: str, *, name: str) -> dict[str, Any]:
    _check_parts(url, name=name)
    options = _options(url, name=name)
    try:
        entry = Env.db_url_config(url)
    except ValueError:
        raise SettingError(name, "needs a port from 1 to 65535 after the host") from None
    # django-environ lowers the host, leaves its %2F alone and reads '+' as a blank.
    authority = urlsplit(url).netloc.rpartition("@")[2]
    path = _decode(urlsplit(url).path[1:], name=name)
    if not path.startswith("/"):
        entry["NAME"] = path
        if authority.upper().startswith("%2F"):
            entry["HOST"] = _decode(re.sub(r":[0-9]*$", "", authority), name=name)
    if not entry["NAME"]:
        raise SettingError(name, "names no database")
    session = " ".join(filter(None, [POSTGRES_SESSION, options.pop("options", "")]))
    return {
        **entry,
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": CONNECTION_AGE_SECONDS,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**POSTGRES_OPTIONS, **options, "options": session},
    }


def _check_parts(url: str, *, name: str) -> None:
    if re.search(r"[\s#]", url):
        raise SettingError(name, "has a blank or a '#' in it: write %20, %23")
    authority, _, path = url.partition("://")[2].partition("?")[0].partition("/")
    userinfo, _, location = authority.rpartition("@")
    if "@" in userinfo + path:
        raise SettingError(
            name, "has an '@' out of place: inside a name or password write %40, for '/' write %2F"
        )
    for part in (userinfo, location, path):
        _decode(part, name=name)
    if "/" in path and not path.startswith("/"):
        raise SettingError(name, "has a '/' in the name of its database: write %2F")
    host_and_port = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._%-]*)(:(?!0+$)[0-9]{1,5})?"
    if not all(re.fullmatch(host_and_port, host) for host in location.split(",")):
        raise SettingError(
            name, "needs host:port with a port from 1 to 65535, an IPv6 address in brackets"
        )
    if "[" in userinfo or "]" in userinfo:
        raise SettingError(name, "has a bracket in user or password: write %5B, %5D")


def _options(url: str, *, name: str) -> dict[str, Any]:
    query = url.partition("?")[2]
    try:
        pairs = parse_qsl(query, strict_parsing=True, keep_blank_values=True) if query else []
    except ValueError:
        raise SettingError(name, "has options that are not name=value") from None
    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    options: dict[str, Any] = {}
    for option, value in pairs:
        if option not in keywords:
            raise SettingError(name, "has an option that PostgreSQL does not know")
        if option in options or not value:
            raise SettingError(name, f"has the option {option} empty or twice")
        if isinstance(POSTGRES_OPTIONS.get(option), int) and not re.fullmatch("[0-9]{1,9}", value):
            raise SettingError(name, f"needs a whole number in the option {option}")
        if option == "sslmode" and value not in _SSL_MODES:
            raise SettingError(name, f"needs one of {', '.join(_SSL_MODES)} as sslmode")
        options[option] = value
    return options


def _decode(text: str, *, name: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise SettingError(name, "has a '%' that encodes nothing: write %25")
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise SettingError(name, "has a part that is not UTF-8") from None
    if "\0" in decoded:
        raise SettingError(name, "has a NUL in it")
    return decoded
