"""The words of a material, as the list's search knows them: kept in one column, on any database.

Pure. The key is written with each draft; `materials.models` asks for it.
"""

import re
import unicodedata
from collections.abc import Iterable

LONGEST_WORD = 64
# PostgreSQL's vectors end at 1 MiB; a character takes at most four bytes.
LONGEST_KEY = 200_000
_WORD = re.compile(r"[^\W_]+")


def key_of(texts: Iterable[str]) -> str:
    """Every word once, in order, with one space before each; the first LONGEST_KEY characters."""
    seen: dict[str, None] = {}
    length = 0
    for text in texts:
        for word in words_of(text):
            if word in seen:
                continue
            length += len(word) + 1
            if length > LONGEST_KEY:
                return "".join(f" {word}" for word in seen)
            seen[word] = None
    return "".join(f" {word}" for word in seen)


def words_of(text: str) -> list[str]:
    """Runs of letters and digits, in one case and one Unicode form."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return [word[:LONGEST_WORD] for word in _WORD.findall(plain)]
