"""RFC 3339, with every Python alike."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from messaging.errors import MalformedEvent
from messaging.event.times import read_time, write_time


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02t03:04:05z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.1Z", datetime(2026, 1, 2, 3, 4, 5, 100_000, UTC)),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123_456, UTC)),
        ("2026-01-02T03:04:05.9999999Z", datetime(2026, 1, 2, 3, 4, 5, 999_999, UTC)),
        ("2026-01-02T03:04:05." + "0" * 5000 + "Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05+05:30", datetime(2026, 1, 1, 21, 34, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05-23:59", datetime(2026, 1, 3, 3, 3, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05-00:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("2016-12-31T15:59:60.5-08:00", datetime(2017, 1, 1, 0, 0, 0, 500_000, UTC)),
        ("1990-12-31T23:59:60Z", datetime(1991, 1, 1, tzinfo=UTC)),
    ],
    ids=lambda value: str(value)[:36],
)
def test_times_with_an_offset_are_read_to_utc(text: str, moment: datetime) -> None:
    assert read_time(text) == moment
    assert read_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2024-01-01", "20240101", "2024-W01-1", "2024-001", "1704067200", "12:00:00Z"),
        *("2024-01-01T00:00:00", "2024-01-01T00:00:00.5", "2024-01-01T00:00:00 Z"),
        *("2024-01-01 00:00:00Z", "2024-01-01_00:00:00Z", "2024-01-01T00:00Z", "2024-01-01T00Z"),
        *("20240101T000000Z", "2024-01-01T00:00:00+0000", "2024-01-01T00:00:00+00"),
        *("2024-01-01T00:00:00+00:00:00", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+00:60"),
        *("2024-01-01T00:00:00.Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z ", " 2024"),
        *("2024-01-01T00:00:00Z\n", "2024-01-01T00:00:00UTC", "2024-01-01T00:00:00\u221201:00"),
        *("2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-02-30T00:00:00Z"),
        *("2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z"),
        *("2024-01-01T00:00:61Z", "2024-01-01T00:00:60Z", "2016-12-31T23:59:60+01:00"),
        *("0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z"),
        *("0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z"),
        "٢٠٢٤-٠١-٠١T٠٠:٠٠:٠٠Z",
        "9" * 10_000,
    ],
    ids=lambda text: ascii(text)[:36],
)
def test_everything_else_is_malformed(text: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        read_time(text)

    assert len(str(caught.value)) < 200


def test_times_are_written_in_utc_with_microseconds() -> None:
    half_past = timezone(timedelta(hours=5, minutes=30))

    assert write_time(datetime(2026, 1, 2, 3, 4, 5, 0, UTC)) == "2026-01-02T03:04:05.000000Z"
    assert write_time(datetime(2026, 1, 2, 3, 4, 5, 6, half_past)) == "2026-01-01T21:34:05.000006Z"
    assert write_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"
