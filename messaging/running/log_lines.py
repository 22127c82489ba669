"""One log record as one line: its values made plain and screened, then written in two forms."""

import json
import math
import re
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from messaging.running.inert_text import inert
from messaging.running.screening import screen

NOT_LOGGED = "[not logged]"

_NEVER_LOGGED = {"body", "data", "document", "envelope", "password", "url"}
_PLAIN = (str, int, float, bool, type(None))
_FIRST = ("timestamp", "level", "event", "logger")


def screen_values(_: Any, __: str, record: MutableMapping[str, Any]) -> dict[str, Any]:
    """Make every value plain and screened, and leave out what is never logged."""
    ordered = [key for key in _FIRST if key in record]
    ordered += [key for key in record if key not in _FIRST]
    return {
        screen(str(key)): NOT_LOGGED if str(key) in _NEVER_LOGGED else _plain(record[key])
        for key in ordered
    }


def write_json(_: Any, __: str, record: Mapping[str, Any]) -> str:
    """One JSON object, ASCII alone, so that no character of it can break the line."""
    return _JSON.encode(record)


def write_console(_: Any, __: str, record: Mapping[str, Any]) -> str:
    """One line for people: time, level, what happened, key=value."""
    (line,) = write_console_many(record, [{}])
    return line


def write_json_many(head: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each, as `write_json` writes what it has in common with the others and its own."""
    return [_JSON.encode({**head, **record}) for record in records]


def write_console_many(head: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each, as `write_console` writes what they have in common and its own."""
    time_and_event = (
        str(head.get("timestamp", "")),
        f"{head.get('level', ''):<8}",
        inert(str(head.get("event", ""))),
    )
    common = [f"{key}={_word(value)}" for key, value in head.items() if key not in _FIRST]
    begin, end = " ".join([*time_and_event, *common]), f"[{head.get('logger', '')}]"
    return [
        " ".join([begin, *(f"{key}={_word(value)}" for key, value in record.items()), end])
        for record in records
    ]


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return screen(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if depth < 4 and isinstance(value, Mapping):
        return {screen(str(key)): _plain(each, depth + 1) for key, each in value.items()}
    if depth < 4 and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in value]
    kind: Any = type(value)
    # A value without words of its own would show all its fields, a message's body among them.
    if kind.__str__ is not object.__str__:
        with suppress(Exception):
            return screen(str(value))
    return f"<{kind.__name__}>"


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        if _is_plain_word(value):
            return value
        if _is_word(value) and value.isprintable():
            return value
    return inert(json.dumps(value, ensure_ascii=False))


_JSON = json.JSONEncoder(ensure_ascii=True, allow_nan=False)
_is_plain_word = re.compile(r"[A-Za-z0-9_.:-]+").fullmatch
_is_word = re.compile(r"[^\s\"'=\[\]{}]+").fullmatch
