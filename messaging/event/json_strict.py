"""Bytes to one JSON object, or a readable MalformedEvent: the first step of decoding.

Stricter than `json.loads`: what two readers could understand differently (duplicate keys,
NaN, lone surrogates, numbers beyond a double) or what a database refuses (U+0000) is refused
here, so that the verdict is the same with every Python, on every database.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, NoReturn

import msgspec

from messaging.errors import MalformedEvent

MAX_BODY_BYTES = 262_144
MAX_DEPTH = 32  # the outermost object is depth 1


class Parsed(NamedTuple):
    """A JSON object, and its one spelling: keys sorted, no white space, UTF-8."""

    document: dict[str, Any]
    canonical: bytes


def parse(body: bytes) -> Parsed:
    """Read the whole body as one strict JSON object.

    Raises MalformedEvent, and nothing else, whatever the bytes are. Its text is short and
    printable and quotes at most a few dozen characters of the body.
    """
    if len(body) > MAX_BODY_BYTES:
        raise MalformedEvent(f"{len(body)} bytes; at most {MAX_BODY_BYTES} are allowed")
    return _read_usual(body) or _read_any(body)


def without(canonical: bytes, *names: str) -> bytes:
    """The canonical spelling of the same object without these of its own keys."""
    document = _MARKED.decode(canonical.decode("utf-8"))
    for name in names:
        document.pop(name, None)
    return _unmark(document)


def quote(text: str, limit: int = 40) -> str:
    """A piece of foreign text for a message: printable, encodable, at most 80 long."""
    shown = repr(text[:limit])[1:-1]  # repr escapes whatever cannot be printed or encoded
    if len(text) > limit or len(shown) > 2 * limit:
        shown = shown[: 2 * limit] + "…"
    return f"“{shown}”"


def _read_usual(body: bytes) -> Parsed | None:
    """What nearly every body is, in a fraction of the time; None for what has to be read closely.

    It is an object of texts and small integers, with at most one more level of these. A body that
    the writer spells byte for byte as it came has neither white space nor a key twice.
    """
    try:
        document = _decode_usual(body)
    except msgspec.MsgspecError:
        return None
    if _write_as_read(document) != body or b"\\u" in body:
        return None
    return Parsed(document, _write_plain(document))


def _read_any(body: bytes) -> Parsed:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedEvent(f"not UTF-8 at byte {error.start}") from error
    if text.startswith("\ufeff"):
        raise MalformedEvent("starts with a byte-order mark")
    _refuse_deep_nesting(text)
    try:
        document = _read(_PLAIN, text)
        exact = False
    except _UnusualNumber:
        document = _read(_EXACT, text)
        exact = True
    if type(document) is not dict:
        raise MalformedEvent(f"a JSON object is expected, not {_KINDS[type(document)]}")
    # Without a \u escape no string can hold a surrogate or U+0000: UTF-8 has no surrogates,
    # and the parser refuses raw control characters.
    if "\\u" in text:
        _refuse_unstorable_text(document)
    return Parsed(document, _unmark(_MARKED.decode(text)) if exact else _write_plain(document))


class _UnusualNumber(Exception):
    """A number whose spelling may not survive Python's own writer."""


_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}

# Always matches from a quotation mark on, closed or not, so that the scan stays linear.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')
_BRACKET = re.compile(r"[\[\]{}]")


def _refuse_deep_nesting(text: str) -> None:
    """Before parsing: the parser recurses, and where it gives up depends on the process."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        if bracket in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise MalformedEvent(f"nested deeper than {MAX_DEPTH} levels")
        else:
            depth -= 1


def _read(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")  # some of its texts want the place, some do not
        raise MalformedEvent(f"not JSON: {said} at character {error.pos}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise MalformedEvent(f"the key {quote(key)} appears twice")
            seen.add(key)
    return result


def _no_constant(name: str) -> NoReturn:
    raise MalformedEvent(f"{name} is not JSON")


def _plain_int(digits: str) -> int:
    if len(digits) > 18 or digits == "-0":
        raise _UnusualNumber
    return int(digits)


def _no_float(digits: str) -> NoReturn:
    raise _UnusualNumber


def _bounded_int(digits: str) -> int:
    # The length first: int() has a limit of its own, which a process may move.
    if len(digits) <= 310:
        value = int(digits)
        try:
            float(value)
        except OverflowError:
            pass
        else:
            return value
    raise MalformedEvent("a number is beyond a double")


def _bounded_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise MalformedEvent("a number is beyond a double")
    return value


def _decoder(
    whole: Callable[[str], Any], broken: Callable[[str], Any], **options: Any
) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_int=whole, parse_float=broken, parse_constant=_no_constant, **options
    )


# Nearly every body has small integers alone: one quick pass. Any other number takes the second
# decoder, and its spelling is kept for the fingerprint ("everything else makes a difference").
_PLAIN = _decoder(_plain_int, _no_float, object_pairs_hook=_unique)
_EXACT = _decoder(_bounded_int, _bounded_float, object_pairs_hook=_unique)

_write = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_write_plain = msgspec.json.Encoder(order="sorted").encode
_write_as_read = msgspec.json.Encoder().encode
_Small = Annotated[int, msgspec.Meta(ge=-(10**15), le=10**15)]
_decode_usual = msgspec.json.Decoder(
    dict[str, str | _Small | dict[str, str | _Small | list[str]]]
).decode
_NUL = re.compile(r"(?<!\\)(?:\\\\)*+\\u0000")


def _refuse_unstorable_text(document: dict[str, Any]) -> None:
    written = _write(document)
    if not written.isascii():
        try:
            written.encode("utf-8")
        except UnicodeEncodeError as error:
            raise MalformedEvent("a string or key holds a lone surrogate") from error
    if "\\u0000" in written and _NUL.search(written):
        raise MalformedEvent("a string or key holds U+0000")


def _mark(digits: str) -> str:
    return f"\0{digits}\0"


_MARKED = _decoder(_mark, _mark)


def _unmark(document: dict[str, Any]) -> bytes:
    # No string of the document holds U+0000 (checked before), so the marks are unambiguous.
    return _MARKS.sub(r"\1", _write(document)).encode("utf-8")


_MARKS = re.compile(r'"\\u0000([-+.0-9eE]++)\\u0000"')
