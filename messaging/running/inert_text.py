"""Foreign text as it may be put on a terminal or into a database: what cannot stands escaped."""

from typing import Any


def inert(text: Any) -> str:
    """On one line: control characters, line ends, marks that turn the reading direction and
    lone surrogates are escaped."""
    return "".join(char if char.isprintable() else _escape(char) for char in str(text))


def inert_block(data: bytes, *, limit_bytes: int) -> str:
    """Bytes as lines; what is no UTF-8 stands as its escape. Says how much was cut off."""
    text = data[:limit_bytes].decode("utf-8", "backslashreplace")
    shown = "\n".join(inert(line) for line in text.split("\n"))
    more = len(data) - limit_bytes
    return f"{shown}\n… and {more} bytes more" if more > 0 else shown


def storable(text: str) -> str:
    """Neither U+0000, which PostgreSQL refuses, nor surrogates, which no encoding takes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
