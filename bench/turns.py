"""Contestants take turns, round by round, so that what disturbs the machine disturbs them alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.figures import Sample
from bench.stage import say


@dataclass(frozen=True)
class Contestant:
    """`play` does one turn: it prepares, measures and clears up."""

    name: str
    play: Callable[[], Sample]
    remark: str = ""


def take_turns(contestants: Sequence[Contestant], *, rounds: int) -> Mapping[str, Sequence[Sample]]:
    """The samples of each, one a round; every second round goes backwards."""
    samples: dict[str, list[Sample]] = {each.name: [] for each in contestants}
    for number in range(rounds):
        for each in contestants if number % 2 == 0 else reversed(contestants):
            sample = each.play()
            samples[each.name].append(sample)
            say(f"round {number + 1} of {rounds}  {each.name:50} {sample.rate:10.0f} /s")
    return samples
