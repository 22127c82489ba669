"""What a material says: the value that drafts, revisions and events share, and its limits.

The limits are the event contract's, but for that of the language. They are checked here so that an
editor learns of them beside the field, long before an event is built; both databases then accept
whatever passes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from msgspec import Meta, ValidationError, convert

from materials.events import Language

TITLE_LIMIT = 200
SUMMARY_LIMIT = 500
BODY_LIMIT = 200_000
# The event contract sets none. 35 characters hold every tag in use; RFC 5646, section 4.4.1.
LANGUAGE_LIMIT = 35
REASON_LIMIT = 500
TAG_LIMIT = 50
TAGS_LIMIT = 20
ACTOR_LIMIT = 150

_LINE_BREAKS = re.compile(r"\r\n?")
_BREAKS_IN_A_LINE = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Title, summary, Markdown body, language and tags of a material."""

    title: str = ""
    summary: str = ""
    body: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()

    def tidied(self) -> "Content":
        """The same content with one kind of line break and no spaces around one-line fields."""
        return Content(
            title=_one_line(self.title),
            summary=_one_line(self.summary),
            body=_LINE_BREAKS.sub("\n", self.body),
            language=self.language.strip(),
            tags=tuple(dict.fromkeys(tag for tag in map(_one_line, self.tags) if tag)),
        )

    def faults(self) -> dict[str, list[str]]:
        """What the contract does not allow, as sentences by field; empty when all is well."""
        found = {
            "title": [*_text_faults(self.title, limit=TITLE_LIMIT), *_blank(self.title)],
            "summary": list(_text_faults(self.summary, limit=SUMMARY_LIMIT)),
            "body": list(_text_faults(self.body, limit=BODY_LIMIT)),
            "language": list(_language_faults(self.language)),
            "tags": list(_tag_faults(self.tags)),
        }
        return {field: faults for field, faults in found.items() if faults}


def tidied_reason(reason: str) -> str:
    """A withdrawal's reason in one line."""
    return _one_line(reason)


def reason_faults(reason: str) -> list[str]:
    """What the contract does not allow in a withdrawal's reason."""
    return list(_text_faults(reason, limit=REASON_LIMIT))


def actor_faults(actor: str) -> list[str]:
    """What the contract does not allow in the name of who acts."""
    return [*_text_faults(actor, limit=ACTOR_LIMIT), *_blank(actor)]


def _one_line(text: str) -> str:
    return _BREAKS_IN_A_LINE.sub(" ", text).strip(" ")


def _blank(text: str) -> Iterator[str]:
    if not text.strip():
        yield _("Say something here: it cannot stay blank.")


def _text_faults(text: str, *, limit: int) -> Iterator[str]:
    if len(text) > limit:
        yield _("At most %(limit)d characters fit; this has %(count)d.") % {
            "limit": limit,
            "count": len(text),
        }
    if "\x00" in text:
        yield _("A null character (U+0000) cannot be stored. Remove it.")
    if _SURROGATES.search(text):
        yield _("Half a surrogate pair cannot be stored. Remove or retype the broken character.")


def _language_faults(language: str) -> Iterator[str]:
    try:
        if language:
            convert(language, Annotated[Language, Meta(max_length=LANGUAGE_LIMIT)])
    except ValidationError:
        yield _("Give the language as a BCP 47 tag, such as “en”, “ru” or “pt-BR”.")


def _tag_faults(tags: Iterable[str]) -> Iterator[str]:
    tags = tuple(tags)
    if len(tags) > TAGS_LIMIT:
        yield _("At most %(limit)d tags fit; there are %(count)d.") % {
            "limit": TAGS_LIMIT,
            "count": len(tags),
        }
    for tag in tags:
        for fault in _text_faults(tag, limit=TAG_LIMIT):
            yield f"“{_printable(tag)}”: {fault}"


def _printable(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
