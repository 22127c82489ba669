"""Which letters are meant: the filters that the shell and the admin share."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import Q
from django.utils.dateparse import parse_date, parse_datetime

from messaging.models import DeadLetter, DeadLetterQuerySet

ALL = "all"
# Reading a text through costs microseconds a letter, and no index of ours answers for parts of
# words: this many are read for a page, not a million.
SEARCHED = 5_000


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Empty means any. `since` and `until` are when a letter died last, `until` excluded."""

    state: str = DeadLetter.State.OPEN
    consumer: str = ""
    reason: str = ""
    place: str = ""
    type: str = ""
    material: str = ""
    event: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    search_payload: bool = True  # whether `text` may be looked for in bodies

    def letters(self, among: DeadLetterQuerySet) -> DeadLetterQuerySet:
        """Those of them that are meant. What no letter can hold matches none."""
        exact = {
            "state": "" if self.state == ALL else self.state,
            "consumer": self.consumer,
            "reason": self.reason,
            "place": self.place,
            "type": self.type,
            "material_id": self.material,
        }
        wanted = Q(**{name: value for name, value in exact.items() if value})
        if self.event:
            event_id = as_uuid(self.event)
            if event_id is None:
                return among.none()
            among = among.of_events([event_id])
        if self.since:
            wanted &= Q(died_at__gte=self.since)
        if self.until:
            wanted &= Q(died_at__lt=self.until)
        if self.text:
            contains = _contains(self.text, vendor=connections[among.db].vendor)
            wanted &= _holding(self.text, contains, in_payload=self.search_payload)
        if not all(_is_storable(str(value)) for value in asdict(self).values()):
            return among.none()
        return among.filter(wanted)

    def within_reach(self, among: DeadLetterQuerySet) -> "Selection":
        """The same with a search that ends soon, for pages; a few small queries.

        For an id that letters have it means those letters, however old. Other words are looked
        for in the newest SEARCHED letters that all else leaves: `since` then says from when on.
        """
        if not self.text:
            return self
        for name in ("event", "material"):
            named: dict[str, Any] = {name: self.text, "text": ""}
            by_id = replace(self, **named)
            if not getattr(self, name) and by_id.letters(among).exists():
                return by_id
        rest = replace(self, text="").letters(among).order_by("-died_at", "-id")
        edge = list(rest.values_list("died_at", flat=True)[SEARCHED - 1 : SEARCHED])
        return replace(self, since=edge[0]) if edge else self

    @classmethod
    def from_json(cls, values: Mapping[str, str], *, search_payload: bool) -> "Selection":
        """What `as_json` gave."""
        moments = {name: as_moment(values[name]) for name in ("since", "until") if name in values}
        texts = {name: value for name, value in values.items() if name not in moments}
        return cls(**{**texts, **moments}, search_payload=search_payload)  # type: ignore[arg-type]

    def as_json(self) -> dict[str, str]:
        """What was asked for, to be kept with a decision over many."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else str(value)
            for name, value in asdict(self).items()
            if value and name != "search_payload"
        }


def as_uuid(text: str) -> UUID | None:
    """The UUID in any of its spellings, or None."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def as_moment(text: str) -> datetime | None:
    """A date (its beginning), or a date and time; UTC unless it has an offset. None for neither."""
    try:
        day = parse_date(text)
        moment = datetime.combine(day, time()) if day else parse_datetime(text)
        if moment is None or moment.tzinfo is None:
            return moment and moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)
        return moment
    except (ValueError, OverflowError):  # 31 February; in UTC before the year 1
        return None


def _holding(text: str, contains: tuple[str, str], *, in_payload: bool) -> Q:
    """In the error or the beginning of the body, in any case; or an id given whole."""
    lookup, wanted = contains
    found = Q((f"error__{lookup}", wanted)) | Q(material_id=text)
    if in_payload:
        found |= Q((f"body_text__{lookup}", wanted))
    event_id = as_uuid(text)
    return found if event_id is None else found | Q(event_id=event_id) | Q(sent_event_id=event_id)


def _contains(text: str, *, vendor: str) -> tuple[str, str]:
    """The lookup, and what to look for, that finds a text in upper and lower case alike.

    On PostgreSQL that is what the database's own collation takes for alike.
    """
    if vendor == "sqlite" and not text.isascii():
        # Its LIKE takes the 26 Latin letters alone for alike; this is Python's own search.
        return "iregex", re.escape(text)
    return "icontains", text


def _is_storable(text: str) -> bool:
    """Whether a letter could hold it; PostgreSQL refuses even the question for what is not."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
