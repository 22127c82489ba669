"""What benchmarks compute from what they measured."""

import pytest

from bench.figures import Sample, percentile, ratio, spread

pytestmark = pytest.mark.any_database


def test_a_sample_tells_its_rate_and_what_a_message_cost() -> None:
    sample = Sample(count=2000, seconds=4.0, cpu_seconds=0.5)

    assert sample.rate == 500
    assert sample.cpu_us == 250
    assert Sample(count=1, seconds=1).cpu_us is None
    assert Sample(count=0, seconds=1, cpu_seconds=1).cpu_us is None


def test_a_spread_is_the_median_with_the_extremes() -> None:
    found = spread([5.0, 1.0, 9.0, 2.0])

    assert (found.median, found.least, found.greatest) == (3.5, 1.0, 9.0)


def test_a_ratio_compares_turns_of_one_round_and_not_medians() -> None:
    # A machine that was ten times slower for one round changes both, and so not their ratio.
    found = ratio([80.0, 8.0, 90.0], [100.0, 10.0, 100.0])

    assert (found.median, found.least, found.greatest) == (0.8, 0.8, 0.9)


def test_only_turns_that_were_taken_together_are_compared() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1), (0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)]
)
def test_a_percentile_is_a_value_that_was_seen(share: float, value: float) -> None:
    assert percentile([float(each) for each in range(100, 0, -1)], share) == value


def test_the_percentiles_of_one_value_are_that_value() -> None:
    assert {percentile([7.0], share) for share in (0.0, 0.5, 0.99, 1.0)} == {7.0}
