"""The words of a text, as every search here knows them: of drafts and of the readers' catalog.

Pure. A key is written with each draft and each catalog entry, the same on any database.
"""

import re
import unicodedata
from collections.abc import Iterable

LONGEST_WORD = 64
# PostgreSQL's vectors end at 1 MiB; a character takes at most four bytes.
LONGEST_KEY = 200_000
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


def key_of(texts: Iterable[str]) -> str:
    """Every word once, in order, with one space before each; at most LONGEST_KEY characters."""
    seen = dict.fromkeys(word for text in texts for word in words_of(text))
    key = "".join([f" {word}" for word in seen])
    return key if len(key) <= LONGEST_KEY else key[: key.rindex(" ", 0, LONGEST_KEY + 1)]


def words_of(text: str) -> list[str]:
    """Runs of letters and digits, in one case and one Unicode form."""
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        found = _WORD.findall(plain)
    return [word[:LONGEST_WORD] for word in found]
