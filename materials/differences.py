"""What differs between two contents of a material, field by field, for a page to show.

Pure, and bounded: however long two texts are and whatever they say, comparing them takes a
moment. Stretches that are too long to be compared line by line, or word by word, are shown as
one replaced by the other.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from materials.alignment import blocks
from materials.content import Content

CONTEXT_LINES = 3
MOST_LINE_PAIRS = 4_000_000
MOST_WORD_PAIRS = 400_000  # of all lines together; every marked word costs the page too
MOST_LINES_SHOWN = 2_000
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """Words of a line; `changed` where the other side has others."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Line:
    """`kind` is `same`, `gone`, `new`; `gap` for `skipped` equal lines, `rest` for what is left."""

    kind: str
    pieces: Sequence[Piece] = ()
    skipped: int = 0


@dataclass(frozen=True)
class FieldDifference:
    """One field that differs."""

    name: str
    label: str
    lines: Sequence[Line]


def differences(before: Content | None, after: Content | None) -> list[FieldDifference]:
    """The fields that differ; None is nothing at all (a withdrawn or unpublished material)."""
    labels = {
        "title": _("Title"),
        "summary": _("Summary"),
        "body": _("Text"),
        "language": _("Language"),
        "tags": _("Tags"),
    }
    found = []
    for name, label in labels.items():
        old, new = _text(before, name), _text(after, name)
        if old != new:
            found.append(FieldDifference(name, label, list(compare(old, new))))
    return found


def compare(old: str, new: str) -> Iterator[Line]:
    """The lines of both texts in one column, long stretches of equal ones left out.

    At most MOST_LINES_SHOWN, then one line of kind `rest`.
    """
    for shown, line in enumerate(_compared(_lines(old), _lines(new))):
        if shown == MOST_LINES_SHOWN:
            yield Line("rest")
            return
        yield line


def _compared(old_lines: list[str], new_lines: list[str]) -> Iterator[Line]:
    pairs_left = MOST_WORD_PAIRS
    for same, i1, i2, j1, j2 in blocks(old_lines, new_lines, most_pairs=MOST_LINE_PAIRS):
        old_block, new_block = old_lines[i1:i2], new_lines[j1:j2]
        if same:
            yield from _shortened(old_block, is_first=i1 == 0, is_last=i2 == len(old_lines))
        elif len(old_block) == len(new_block):
            pairs_left -= yield from _replaced(old_block, new_block, pairs_left=pairs_left)
        else:
            yield from (Line("gone", [Piece(line, True)]) for line in old_block)
            yield from (Line("new", [Piece(line, True)]) for line in new_block)


def _text(content: Content | None, name: str) -> str:
    if content is None:
        return ""
    value = getattr(content, name)
    return "\n".join(value) if name == "tags" else str(value)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _shortened(lines: list[str], *, is_first: bool, is_last: bool) -> Iterator[Line]:
    head = [] if is_first else lines[:CONTEXT_LINES]
    tail = [] if is_last else lines[max(len(head), len(lines) - CONTEXT_LINES) :]
    skipped = len(lines) - len(head) - len(tail)
    yield from (Line("same", [Piece(line)]) for line in head)
    if skipped:
        yield Line("gap", skipped=skipped)
    yield from (Line("same", [Piece(line)]) for line in tail)


def _replaced(old: list[str], new: list[str], *, pairs_left: int) -> Generator[Line, None, int]:
    """Each line beside its successor, with the words marked; the word pairs that this took."""
    news: list[Line] = []
    spent = 0
    for old_line, new_line in zip(old, new, strict=True):
        old_words, new_words = _WORDS.findall(old_line), _WORDS.findall(new_line)
        pairs = len(old_words) * len(new_words)
        if spent + pairs > pairs_left:
            yield Line("gone", [Piece(old_line, True)])
            news.append(Line("new", [Piece(new_line, True)]))
            continue
        spent += pairs
        old_pieces, new_pieces = _pieces(old_words, new_words)
        yield Line("gone", old_pieces)
        news.append(Line("new", new_pieces))
    yield from news
    return spent


def _pieces(old_words: list[str], new_words: list[str]) -> tuple[list[Piece], list[Piece]]:
    olds: list[Piece] = []
    news: list[Piece] = []
    pairs = len(old_words) * len(new_words)  # the caller has paid for them
    for same, i1, i2, j1, j2 in blocks(old_words, new_words, most_pairs=pairs):
        if i1 < i2:
            olds.append(Piece("".join(old_words[i1:i2]), not same))
        if j1 < j2:
            news.append(Piece("".join(new_words[j1:j2]), not same))
    return olds, news
