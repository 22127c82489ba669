"""The geometry of small charts; the templates draw them as SVG, without style and script."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart, in the chart's own units; `value` is what it stands for."""

    x: str
    y: str
    width: str
    height: str
    value: float


def bars(values: Sequence[float], *, width: int, height: int) -> list[Bar]:
    """Bars from the ground up, the largest as high as the chart; a value above 0 is visible."""
    top = max(values, default=0) or 1
    step = width / max(1, len(values))
    found = []
    for number, value in enumerate(values):
        high = max(1.5, height * value / top) if value else 0.0
        found.append(
            Bar(
                _number(number * step),
                _number(height - high),
                _number(max(0.5, step - 1)),
                _number(high),
                value,
            )
        )
    return found


def outline(values: Sequence[float], *, width: int, height: int) -> str:
    """The same bars as one shape, for `path`: a page of many charts is written far sooner."""
    return "".join(
        f"M{bar.x},{bar.y}h{bar.width}v{bar.height}h-{bar.width}z"
        for bar in bars(values, width=width, height=height)
        if bar.value
    )


def line(values: Sequence[float | None], *, top: float, width: int, height: int) -> list[str]:
    """The points of each unbroken piece of a line, for `polyline`; None interrupts it.

    A piece of one point becomes a short dash, so that it is seen.
    """
    step = width / max(1, len(values))
    pieces: list[list[str]] = [[]]
    for number, value in enumerate(values):
        if value is None:
            pieces.append([])
            continue
        x, y = (number + 0.5) * step, height - height * min(1.0, value / (top or 1))
        pieces[-1].append(f"{_number(x)},{_number(y)}")
    return [_visible(piece) for piece in pieces if piece]


def _visible(piece: list[str]) -> str:
    if len(piece) > 1:
        return " ".join(piece)
    x, y = piece[0].split(",")
    return f"{_number(float(x) - 3)},{y} {_number(float(x) + 3)},{y}"


def _number(value: float) -> str:
    """With a point whatever the language."""
    return f"{value:.1f}"
