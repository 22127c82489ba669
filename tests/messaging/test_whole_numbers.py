"""Numbers of a command line: what is one, what is none, and what is told of it."""

import pytest
from django.core.management import CommandError, call_command

from messaging.management.whole_numbers import whole_number

pytestmark = pytest.mark.any_database


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("0030", 30),
        ("65535", 65535),
        ("0" * 5000 + "7", 7),
        *((text, None) for text in ("", "0", "000", "65536", "-1", "+1", " 1", "1_0", "1.0", "x")),
        *((text, None) for text in ("\u0663", "\u00b2", "\uff11", "9" * 5000, "0" * 20 + "9" * 20)),
    ],
)
def test_a_whole_number_is_digits_and_within_its_bounds(text: str, number: int | None) -> None:
    assert whole_number(text, least=1, most=65535) == number


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "catalog", "--prefetch", "9" * 5000),
        ("prune_delivery", "--older-than", "9" * 5000),
        ("dead_letters", "show", "9" * 5000),
    ],
)
def test_a_number_of_thousands_of_digits_is_not_repeated(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command(*arguments)

    assert len(str(refused.value)) < 200
