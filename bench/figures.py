"""What is computed from measurements: medians, spreads, ratios, percentiles. Pure."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One turn of one contestant: so many messages in so many seconds, and what it took.

    CPU and memory are those of the contestant's own processes, not of broker and database.
    """

    count: int
    seconds: float
    cpu_seconds: float | None = None
    peak_mb: float | None = None

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.count / self.seconds

    @property
    def cpu_us(self) -> float | None:
        """Microseconds of CPU (user and system) a message."""
        if self.cpu_seconds is None or not self.count:
            return None
        return self.cpu_seconds / self.count * 1e6


@dataclass(frozen=True)
class Spread:
    """The median of some figures, with the least and the greatest."""

    median: float
    least: float
    greatest: float


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(product: Sequence[float], reference: Sequence[float]) -> Spread:
    """Product through reference, turn by turn: what disturbed a round disturbed both."""
    return spread([mine / its for mine, its in zip(product, reference, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least that share (0 to 1) of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
