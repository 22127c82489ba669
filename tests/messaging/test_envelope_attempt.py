"""The attempt header is read strictly, because anybody can write it."""

from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from messaging.broker.field_table import LongString, Timestamp, Undecodable
from messaging.envelope import read_attempt
from messaging.errors import InvalidAttempt, PermanentError


@pytest.mark.parametrize(
    "headers",
    [None, {}, {"Attempt": 9}, {"x-death": [{"count": 9}]}, {b"attempt": 2}, {b"\xff": 1}],
)
def test_without_the_header_it_is_the_first_attempt(headers: Any) -> None:
    assert read_attempt(headers) == 0


@pytest.mark.parametrize("attempt", [0, 1, 2, 3])
def test_an_integer_from_0_to_3_is_the_attempt(attempt: int) -> None:
    assert read_attempt({"attempt": attempt, "reason": "x"}) == attempt
    assert read_attempt(MappingProxyType({"attempt": attempt})) == attempt


@pytest.mark.parametrize(
    "attempt",
    [
        *(True, False, None, "2", "x", "", b"2", LongString(b"\xff"), -1, 4, 10**18, -(2**63)),
        *(2.0, 2.9, float("nan"), float("inf"), Decimal(2), Timestamp(2), [2], [], {"a": 1}, {}),
        *(Undecodable(b"?"), datetime(2026, 1, 1, tzinfo=UTC), SimpleNamespace()),
        "\ud800\0" * 1000,
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_anything_else_is_no_attempt(attempt: object) -> None:
    with pytest.raises(InvalidAttempt) as caught:
        read_attempt({"attempt": attempt})

    text = str(caught.value)
    assert "attempt" in text
    assert len(text) < 120
    assert text.isprintable()
    assert issubclass(InvalidAttempt, PermanentError)
