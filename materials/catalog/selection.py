"""What a reader asks the catalog for: search words, a tag, a language."""

from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext

from materials.catalog.models import CatalogEntry, CatalogQuerySet
from materials.catalog.words import more_say_than, saying

TEXT_LIMIT = 200


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The filters of a list, as they stand in its URL. Any text is allowed in them."""

    q: str = ""
    tag: str = ""
    lang: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """What `?q=&tag=&lang=` say; longer texts are cut to 200 characters."""
        return cls(
            q=" ".join(query.get("q", "").split())[:TEXT_LIMIT],
            tag=query.get("tag", "")[:TEXT_LIMIT],
            lang=query.get("lang", "").strip()[:TEXT_LIMIT],
        )

    def __bool__(self) -> bool:
        return bool(self.q or self.tag or self.lang)

    def entries(self, *, among_many: bool = False) -> CatalogQuerySet:
        """The published entries that pass, newest first.

        Every word of `q`, up to eight, begins a word of the title, the summary or the text, in
        any case; what a sign joins to a next one is a whole word. Nothing matches what no event
        can hold. Those `among_many` are asked for in a way that is quick where so many pass that a
        page of them is soon met.
        """
        entries = CatalogEntry.objects.published()
        if "\x00" in self.q + self.tag + self.lang:
            return entries.none()
        if self.tag:
            entries = entries.tagged(self.tag)
        if self.lang:
            entries = entries.in_language(self.lang)
        return saying(entries, self.q, among_many=among_many)

    def has_more_than(self, number: int) -> bool:
        """Whether more pass, where the index of words alone can tell; else False."""
        words_alone = bool(self.q) and not (self.tag or self.lang)
        return words_alone and more_say_than(number, self.q, using=CatalogEntry.objects.db)

    def filters(self) -> list[dict[str, str]]:
        """Each filter in use: a label, its value, and the query without it."""
        labels = {"q": gettext("Words"), "tag": gettext("Tag"), "lang": gettext("Language")}
        return [
            {
                "label": label,
                "value": getattr(self, name),
                "without": replace(self, **{name: ""}).query_string(),
            }
            for name, label in labels.items()
            if getattr(self, name)
        ]

    def query_string(self, **more: Any) -> str:
        """`?…` for a link, or nothing where there is nothing to say."""
        pairs = {"q": self.q, "tag": self.tag, "lang": self.lang, **more}
        text = urlencode({name: value for name, value in pairs.items() if value})
        return f"?{text}" if text else ""
