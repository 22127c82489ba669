"""Which members of two sequences stand for one another; what `differences` shows is built on it.

Members that occur once on both sides are matched first, so that a paragraph finds itself again
whatever blank lines surround it. What lies between them is matched by a longest common
subsequence, a bit for each member, as long as the pairs of members do not exceed the limit;
past it nothing is matched there. So the work is bounded by the lengths and the limit, whatever
the members say.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Block(NamedTuple):
    """`old[i1:i2]` became `new[j1:j2]`; both are equal where `same`."""

    same: bool
    i1: int
    i2: int
    j1: int
    j2: int


def blocks(old: Sequence[str], new: Sequence[str], *, most_pairs: int) -> Iterator[Block]:
    """Both sequences from end to end, equal and different blocks by turns."""
    i = j = 0
    for match_i, match_j, length in _runs(_matches(old, new, most_pairs=most_pairs)):
        if match_i > i or match_j > j:
            yield Block(False, i, match_i, j, match_j)
        i, j = match_i + length, match_j + length
        yield Block(True, match_i, i, match_j, j)
    if i < len(old) or j < len(new):
        yield Block(False, i, len(old), j, len(new))


def _runs(matches: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """(first old, first new, length) of matches that follow one another on both sides."""
    run: tuple[int, int, int] | None = None
    for i, j in matches:
        if run is not None and (i, j) == (run[0] + run[2], run[1] + run[2]):
            run = run[0], run[1], run[2] + 1
            continue
        if run is not None:
            yield run
        run = i, j, 1
    if run is not None:
        yield run


def _matches(
    old: Sequence[str], new: Sequence[str], *, most_pairs: int
) -> Iterator[tuple[int, int]]:
    """Positions that are matched, growing on both sides."""
    pairs_left = most_pairs
    i = j = 0
    for next_i, next_j in [*_anchors(old, new), (len(old), len(new))]:
        while i < next_i and j < next_j and old[i] == new[j]:
            yield i, j
            i, j = i + 1, j + 1
        end = 0
        while (
            next_i - end > i and next_j - end > j and old[next_i - end - 1] == new[next_j - end - 1]
        ):
            end += 1
        middle_old, middle_new = old[i : next_i - end], new[j : next_j - end]
        pairs = len(middle_old) * len(middle_new)
        if pairs <= pairs_left:
            pairs_left -= pairs
            for at_i, at_j in _common(middle_old, middle_new):
                yield i + at_i, j + at_j
        yield from zip(range(next_i - end, next_i), range(next_j - end, next_j), strict=True)
        if next_i < len(old):
            yield next_i, next_j
        i, j = next_i + 1, next_j + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The most members that occur once on both sides and stand in the same order on both."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {each: j for j, each in enumerate(new) if new_counts[each] == 1}
    pairs = [
        (i, places[each]) for i, each in enumerate(old) if old_counts[each] == 1 and each in places
    ]
    # The longest growing run of new places, by the smallest end of a run of each length.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for at, (_i, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [at]
    found = []
    position = last[-1] if last else None
    while position is not None:
        found.append(pairs[position])
        position = before[position]
    return found[::-1]


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, by Hyyrö's bit-parallel recurrence."""
    if len(old) > len(new):
        return [(i, j) for j, i in _common(new, old)]
    masks: dict[str, int] = {}
    for i, each in enumerate(old):
        masks[each] = masks.get(each, 0) | 1 << i
    all_ones = (1 << len(old)) - 1
    row = all_ones
    rows = [row]  # a zero at bit i: old[: i + 1] has one more in common than old[:i]
    for each in new:
        shared = row & masks.get(each, 0)
        row = (row + shared | row - shared) & all_ones
        rows.append(row)
    found = []
    i, j = len(old), len(new)
    while i and j:
        if rows[j] >> i - 1 & 1:
            i -= 1
        elif not rows[j - 1] >> i - 1 & 1:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]
