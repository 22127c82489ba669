"""Throughput and latency of one consumer as charts that need no colour, and as figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.core.cache import cache
from django.utils.translation import gettext as _

from messaging.console.charts import Bar, bars, line
from messaging.console.spans import span
from messaging.operating.pace import Pace, Spell, paces
from messaging.registry import Consumer

WIDTH, BAR_HEIGHT, LINE_HEIGHT = 520, 64, 96
_LABEL_HEIGHT = 17.0  # of letters of 12: lines that touch cannot be told apart
# Thousands of receipts are read for the charts: several looks at the page share them.
KEPT_SECONDS = 10


@dataclass(frozen=True)
class Line:
    """One quantile: `name` tells it apart by its dashes, and its label stands at its end."""

    name: str
    pieces: Sequence[str]
    label: str
    label_y: str


@dataclass(frozen=True)
class PaceChart:
    """One span of time."""

    title: str
    pace: Pace
    bars: Sequence[Bar]
    most_handled: int
    lines: Sequence[Line]
    longest: str
    whole: tuple[str, str, str]
    figures: Sequence[tuple[Spell, str, str, str]]


def pace_charts(consumer: Consumer) -> list[PaceChart]:
    """The last hour and the last day, as they were at most KEPT_SECONDS ago."""
    spans = [(timedelta(hours=1), 12), (timedelta(days=1), 24)]
    key = f"pace:{consumer.name}"
    kept: list[Pace] | None = cache.get(key)
    if kept is None:
        kept = paces(consumer, spans)
        cache.set(key, kept, timeout=KEPT_SECONDS)
    hour, day = kept
    return [_chart(_("Last hour"), hour), _chart(_("Last day"), day)]


def _chart(title: str, pace: Pace) -> PaceChart:
    counts = [spell.handled for spell in pace.spells]
    series = {
        "p50": [spell.p50 for spell in pace.spells],
        "p95": [spell.p95 for spell in pace.spells],
        "p99": [spell.p99 for spell in pace.spells],
    }
    top = max((value for values in series.values() for value in values if value), default=0.0)
    return PaceChart(
        title=title,
        pace=pace,
        bars=bars(counts, width=WIDTH, height=BAR_HEIGHT),
        most_handled=max(counts),
        lines=_lines(series, top),
        longest=_said(top or None),
        whole=_quantiles(pace.whole),
        figures=[(spell, *_quantiles(spell)) for spell in pace.spells],
    )


def _lines(series: dict[str, list[float | None]], top: float) -> list[Line]:
    """The labels stand where their lines end, and never on each other."""
    found: list[Line] = []
    above: float | None = None
    ends = {name: _last(values) for name, values in series.items()}
    names = [name for name in sorted(series, reverse=True) if ends[name] is not None]
    for below, name in zip(range(len(names) - 1, -1, -1), names, strict=True):
        last = ends[name]
        y = LINE_HEIGHT - LINE_HEIGHT * ((last or 0.0) / (top or 1)) + 4
        y = min(y, LINE_HEIGHT + 4 - below * _LABEL_HEIGHT)  # room for those that follow
        if above is not None:
            y = max(y, above + _LABEL_HEIGHT)
        above = y
        pieces = line(series[name], top=top, width=WIDTH, height=LINE_HEIGHT)
        found.append(Line(name, pieces, f"{name} {_said(last)}", f"{y:.1f}"))
    return found


def _last(values: Sequence[float | None]) -> float | None:
    return next((value for value in reversed(values) if value is not None), None)


def _quantiles(spell: Spell) -> tuple[str, str, str]:
    return _said(spell.p50), _said(spell.p95), _said(spell.p99)


def _said(seconds: float | None) -> str:
    return "—" if seconds is None else span(seconds)
