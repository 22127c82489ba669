"""An exception as text for people: short, storable in any database, without secrets or rows."""

import re
import traceback
from collections.abc import Iterator

import psycopg

from messaging.running.inert_text import storable
from messaging.running.screening import screen

MAX_TEXT = 500
MAX_TRACEBACK_BYTES = 16 * 1024

_READ_LIMIT = 4_000
_FRAMES_PER_ERROR = 30
_CHAIN_LIMIT = 10


def sanitised(error: BaseException) -> str:
    """What the error says, on one line of at most MAX_TEXT characters. Never raises.

    Without credentials, without PostgreSQL's DETAIL (it quotes the row), and always encodable.
    """
    said = _one_line(screen(_shorten(_words_of(error)))) or type(error).__name__
    return said if len(said) <= MAX_TEXT else said[: MAX_TEXT - 1] + "…"


def traceback_text(error: BaseException) -> str:
    """The traceback, first cause first, of at most MAX_TRACEBACK_BYTES in UTF-8. Never raises.

    No local variables; each error's words as in `sanitised`; of a long one the end is kept.
    """
    blocks = [_block(link) for link in reversed(list(_chain(error)))]
    raw = storable("\n".join(blocks)).encode("utf-8")
    if len(raw) <= MAX_TRACEBACK_BYTES:
        return raw.decode("utf-8")
    kept = raw[-(MAX_TRACEBACK_BYTES - 4) :].decode("utf-8", "ignore")
    return f"…\n{kept}"


def _words_of(error: BaseException) -> str:
    driver = next((link for link in _chain(error) if isinstance(link, psycopg.Error)), None)
    if driver is not None and str(driver) == _str(error) and driver.diag.message_primary:
        return driver.diag.message_primary
    return _str(error)


def _str(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ must not hide the failure itself
        return ""


def _shorten(text: str) -> str:
    """A limit for the screening, never within what may be a URL: half of one would slip by."""
    if len(text) <= _READ_LIMIT:
        return text
    return re.sub(r"(?<!\S)\S*[:=]\S*\Z", "", text[:_READ_LIMIT]) + "…"


def _one_line(text: str) -> str:
    return " ".join(storable(text).split())


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_CHAIN_LIMIT):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _block(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__, limit=-_FRAMES_PER_ERROR)
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    return f"{screen(''.join(frames.format()))}{name}: {sanitised(error)}"
