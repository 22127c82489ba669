"""Which members of two sequences stand for one another, and what finding it may cost."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from materials.alignment import blocks

pytestmark = pytest.mark.any_database

SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=9)


def kept(old: list[str], new: list[str], *, most_pairs: int = 1000) -> int:
    """How many members the equal blocks hold."""
    found = blocks(old, new, most_pairs=most_pairs)
    return sum(block.i2 - block.i1 for block in found if block.same)


@given(SEQUENCES, SEQUENCES, st.sampled_from([0, 5, 1000]))
def test_the_blocks_are_both_sequences_from_end_to_end_by_turns(
    old: list[str], new: list[str], most_pairs: int
) -> None:
    found = list(blocks(old, new, most_pairs=most_pairs))

    assert [each for block in found for each in old[block.i1 : block.i2]] == old
    assert [each for block in found for each in new[block.j1 : block.j2]] == new
    for same, i1, i2, j1, j2 in found:
        assert (old[i1:i2] == new[j1:j2]) == same
    assert all(a.same != b.same for a, b in pairwise(found))


@given(st.lists(st.sampled_from("ab"), max_size=9), st.lists(st.sampled_from("ab"), max_size=9))
def test_where_nothing_occurs_once_as_much_as_possible_is_kept(
    old: list[str], new: list[str]
) -> None:
    old, new = ["a", "a", "b", "b", *old], ["a", "a", "b", "b", *new]

    assert kept(old, new) >= 4 + _longest(old[4:], new[4:])


def _longest(old: list[str], new: list[str]) -> int:
    for length in range(min(len(old), len(new)), 0, -1):
        ours = set(combinations(old, length))
        if any(each in ours for each in combinations(new, length)):
            return length
    return 0


def test_what_occurs_once_on_both_sides_is_kept_before_what_comes_often() -> None:
    assert kept(["", "", "", "x"], ["x", "", "", ""]) == 1


def test_past_the_limit_only_ends_and_single_members_are_kept() -> None:
    old, new = list("aababb-cdcd"), list("abbaab-dcdc")

    assert kept(old, new) > kept(old, new, most_pairs=0) == len("a") + len("b") + len("-")
