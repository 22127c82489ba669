"""RFC 3339 times as events carry them, read by our own rule, so that each Python agrees."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from messaging.errors import MalformedEvent
from messaging.event.json_strict import quote


def read_time(text: str) -> datetime:
    """RFC 3339 to UTC, digits beyond the microsecond cut off, a leap second as the next second."""
    if _USUAL_TIME.fullmatch(text):
        with suppress(ValueError):  # a leap second, or no time at all
            return datetime.fromisoformat(text)
    match = _TIME.fullmatch(text)
    if match is None:
        raise MalformedEvent(f"`occurredAt` {quote(text)} is not an RFC 3339 time with an offset")
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    leap = second == "60"
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            59 if leap else int(second),
            int(fraction[:6].ljust(6, "0")) if fraction else 0,
            UTC,
        )
        if sign:
            if int(hours) > 23 or int(minutes) > 59:
                raise ValueError("offset out of range")
            offset = timedelta(hours=int(hours), minutes=int(minutes))
            moment = moment - offset if sign == "+" else moment + offset
        if leap:
            if (moment.hour, moment.minute) != (23, 59):
                raise ValueError("a leap second comes at the end of a day in UTC")
            moment += timedelta(seconds=1)
    except (ValueError, OverflowError) as error:
        raise MalformedEvent(f"`occurredAt` {quote(text)}: no such time") from error
    return moment


def write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


# As this project writes it; Python reads that itself, and quicker.
_USUAL_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
