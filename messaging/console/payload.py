"""Foreign bytes as text for a page: laid out as JSON where they are, as they are, or as hex.

All of it is inert: what does not print (control characters, U+0000, marks that turn the reading
direction, lone surrogates) stands as its escape; the templates escape markup.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from messaging.event.json_strict import MAX_BODY_BYTES
from messaging.running.inert_text import inert

SHOWN_BYTES = 64 * 1024
_BYTES_A_LINE = 16
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Shown:
    """`kind` is text or hex; `cut_bytes` are those that are not shown."""

    kind: str
    text: str
    cut_bytes: int


@dataclass(frozen=True, slots=True)
class Laid:
    """A body laid out for reading; `is_cut` where it goes on."""

    text: str
    is_cut: bool


def raw(body: bytes) -> Shown:
    """The bytes as they are, cut at SHOWN_BYTES: as text where they are UTF-8 without U+0000."""
    head = body[:SHOWN_BYTES]
    cut = len(body) - len(head)
    text = _as_text(head, whole=not cut)
    if text is None:
        return Shown("hex", "\n".join(_hex_lines(head)), cut)
    return Shown("text", "\n".join(inert(line) for line in text.split("\n")), cut)


def pretty(body: bytes) -> Laid | None:
    """The body laid out as JSON, each key and number as it was written; None where it is none.

    Also None for what is larger than any event may be. Cut at SHOWN_BYTES: indentation can make
    a hundred lines of a byte.
    """
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        lines = (inert(line) for line in _lines(_document(body), 0))
        return _cut(lines, most_bytes=SHOWN_BYTES)
    except (ValueError, RecursionError):
        return None


def to_edit(body: bytes) -> str | None:
    """The same JSON on lines of its own, to be changed and sent; None where it is none, or would
    be larger so than any event may be.

    What would not be seen is written as JSON's own escapes, which say the same.
    """
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        lines = (_seen(line) for line in _lines(_document(body), 0))
        laid = _cut(lines, most_bytes=MAX_BODY_BYTES)
    except (ValueError, RecursionError):
        return None
    return None if laid.is_cut else laid.text


def _document(body: bytes) -> Any:
    return json.loads(
        body.decode("utf-8"),
        object_pairs_hook=_Pairs,
        parse_int=_Literal,
        parse_float=_Literal,
        parse_constant=_Literal,
    )


def _seen(line: str) -> str:
    return "".join(char if char.isprintable() else _json_escape(char) for char in line)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _cut(lines: Iterable[str], *, most_bytes: int) -> Laid:
    kept: list[str] = []
    size = 0
    for line in lines:
        room = most_bytes - size
        size += len(line.encode()) + 1
        if size > most_bytes:
            return Laid("\n".join([*kept, line[:room]]), is_cut=True)
        kept.append(line)
    return Laid("\n".join(kept), is_cut=False)


def pairs(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Headers or properties as names and values, both inert, in order of name."""
    return [
        (
            inert(name),
            inert(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)),
        )
        for name, value in sorted(table.items())
        if value is not None
    ]


def _as_text(head: bytes, *, whole: bool) -> str | None:
    # A character may have been cut in two at the end.
    for end in (0,) if whole else (0, 1, 2, 3):
        try:
            text = head[: len(head) - end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return None if "\0" in text else text
    return None


def _hex_lines(data: bytes) -> Iterator[str]:
    for start in range(0, len(data), _BYTES_A_LINE):
        piece = data[start : start + _BYTES_A_LINE]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield f"{start:06x}  {piece.hex(' '):<{_BYTES_A_LINE * 3 - 1}}  {letters}"


class _Literal(str):
    """A number as it was written."""


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also those that stand twice."""


def _lines(value: Any, depth: int, *, before: str = "", after: str = "") -> Iterator[str]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply to be read")
    space = "  " * depth
    if not isinstance(value, list) or not value:
        yield f"{space}{before}{_scalar(value)}{after}"
        return
    is_object = isinstance(value, _Pairs)
    yield f"{space}{before}{'{' if is_object else '['}"
    for number, each in enumerate(value, 1):
        comma = "," if number < len(value) else ""
        if is_object:
            key, inner = each
            yield from _lines(inner, depth + 1, before=f"{_quoted(key)}: ", after=comma)
        else:
            yield from _lines(each, depth + 1, after=comma)
    yield f"{space}{'}' if is_object else ']'}{after}"


def _scalar(value: Any) -> str:
    if isinstance(value, _Literal):
        return value
    if isinstance(value, _Pairs):
        return "{}"
    return _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
