"""The words of a text, as every search here knows them: of drafts and of the readers' catalog.

Pure. A key is written with each draft and each catalog entry, the same on any database.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

LONGEST_WORD = 64
# PostgreSQL's vectors end at 1 MiB; a character takes at most four bytes.
LONGEST_KEY = 200_000
# The beginning of a word alone; what is longer is passed over.
_WORD = re.compile(rf"([^\W_]{{1,{LONGEST_WORD}}}+)[^\W_]*+")
_ASCII_WORD = re.compile(rf"([a-z0-9]{{1,{LONGEST_WORD}}}+)[a-z0-9]*+")


def key_of(texts: Iterable[str]) -> str:
    """Every word once, in order, with one space before each; at most LONGEST_KEY characters."""
    seen = dict.fromkeys(chain.from_iterable(map(words_of, texts)))
    key = f" {' '.join(seen)}" if seen else ""
    return key if len(key) <= LONGEST_KEY else key[: key.rindex(" ", 0, LONGEST_KEY + 1)]


def words_of(text: str) -> list[str]:
    """Runs of letters and digits, in one case and one Unicode form."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall(plain)


def asked_words(text: str) -> list[tuple[str, bool]]:
    """The words of what somebody looks for, each with whether it is a word as a whole.

    Of words that signs join, as in `article-107`, all but the last are: an index finds a whole word
    without reading all that begin like it.
    """
    joined = (words_of(part) for part in text.split())
    return [(word, place < len(words)) for words in joined for place, word in enumerate(words, 1)]
