"""What a consumer may be called: its name is part of queues' names, of rows and of pauses."""

from dataclasses import replace

import pytest

from messaging import registry
from messaging.registry import RELAY

pytestmark = pytest.mark.any_database


@pytest.fixture(autouse=True)
def none_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_consumers", {})


def consumer(name: str, *patterns: str) -> registry.Consumer:
    return registry.Consumer(name=name, patterns=patterns, apply=lambda events, database: set())


@pytest.mark.parametrize(
    "name",
    [
        RELAY,
        "catalog.retry",
        "events.dead",
        "",
        "Catalog",
        "9lives",
        "каталог",
        "a b",
        "catalog\n",
        "x" * 33,
    ],
)
def test_a_name_that_would_be_mistaken_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="consumer") as refused:
        registry.register_consumer(consumer(name, "material.*"))

    assert repr(name) in str(refused.value)
    assert registry.consumers() == ()


@pytest.mark.parametrize("patterns", [(), ("",), ("material.*", "я" * 128)])
def test_a_consumer_that_could_be_bound_to_nothing_is_refused(patterns: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="pattern"):
        registry.register_consumer(consumer("search", *patterns))


def test_a_sound_consumer_is_known_once() -> None:
    sound = consumer("full-text_search2", "material.published", "#")

    registry.register_consumer(sound)

    assert registry.consumers() == (sound,)
    with pytest.raises(ValueError, match="registered twice"):
        registry.register_consumer(replace(sound, patterns=("other.*",)))


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("material.published", True),
        ("material.withdrawn", False),
        ("material.*", True),
        ("*.published", True),
        ("*", False),
        ("*.*.*", False),
        ("#", True),
        ("material.#", True),
        ("material.published.#", True),
        ("#.published", True),
        ("#.material.#.published.#", True),
        ("material", False),
        ("material.publish", False),
        ("", False),
    ],
)
def test_a_consumer_takes_what_its_patterns_match(pattern: str, taken: bool) -> None:
    assert consumer("search", "other.*", pattern).takes("material.published") is taken
