"""What must not be said: passwords, URLs that hold one, and the contents of rows.

Everything that leaves a process as text for people passes here: log records, and the error
pages and mails of catalogsite.error_reports.
"""

import json
import re
from functools import lru_cache
from html import escape
from urllib.parse import quote

from django.conf import settings

MASK = "********"

# Up to the last '@' before a blank or quote: a mistyped password may itself hold '/' and '@'.
_CREDENTIALS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s'\"<>]*@")
_PASSWORD_WORD = re.compile(r"(?i)\b(password|passwd|pwd|sslpassword)(\s*=\s*)('[^']*'|[^\s&;,]+)")
# PostgreSQL quotes the refused row, and with it parts of a material.
_ROW = re.compile(r"(?s)(Failing row contains )\(.*?\)\.(?=\s|$)")


def screen(text: str) -> str:
    """The text without credentials, without the values of settings.KNOWN_SECRETS in any of
    their spellings, and without rows that PostgreSQL quotes."""
    text = _CREDENTIALS.sub(rf"\1{MASK}@", text)
    text = _PASSWORD_WORD.sub(rf"\1\2{MASK}", text)
    text = _ROW.sub(r"\1(...).", text)
    known = _pattern(tuple(settings.KNOWN_SECRETS))
    return known.sub(MASK, text) if known else text


@lru_cache(maxsize=8)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
    if not spellings:
        return None
    # Longest first, so that a secret inside another leaves no rest behind.
    ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return re.compile("|".join(map(_whole_word, ordered)))


def _spellings(secret: str) -> set[str]:
    """As it is, in a URL, in JSON, in a repr of either quotes, and each of them in a page."""
    plain = {secret, quote(secret, safe=""), quote(secret)}
    quoted = {json.dumps(secret)[1:-1], repr(f'{secret}"')[1:-2], repr(f"{secret}'\"")[1:-4]}
    return {form for spelling in plain | quoted for form in (spelling, escape(spelling))}


def _whole_word(spelling: str) -> str:
    # A short password may be part of ordinary words; a long one is masked wherever it stands.
    pattern = re.escape(spelling)
    return pattern if len(spelling) >= 8 else rf"(?<!\w){pattern}(?!\w)"
