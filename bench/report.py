"""A benchmark's result: sections of figures, goals and accounts, as JSON and as Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.figures import Sample, percentile, spread


class AccountFailed(Exception):
    """An event was lost, applied twice or applied wrongly; the text says which and how many."""


@dataclass(frozen=True)
class Section:
    """One table."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    data: Mapping[str, object]  # what the rows were made of, for the JSON
    note: str = ""


@dataclass(frozen=True)
class Goal:
    """What was wanted, and what was found."""

    what: str
    wanted: str
    found: str
    met: bool


@dataclass
class Report:
    """Filled while a benchmark runs, written at its end."""

    name: str
    title: str
    circumstances: dict[str, object] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    accounts: dict[str, int] = field(default_factory=dict)  # and how often each was right

    def add_rates(
        self,
        title: str,
        samples: Mapping[str, Sequence[Sample]],
        *,
        notes: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        """A table of messages a second: median, spread, CPU a message, peak memory."""
        remarks = notes or {}
        rows = [[*_rate_row(name, each), remarks.get(name, "")] for name, each in samples.items()]
        columns = ["", "messages/s", "min … max", "CPU a message", "peak memory", "remark"]
        data = {name: [asdict(sample) for sample in each] for name, each in samples.items()}
        self.sections.append(Section(title, columns, rows, data, note))

    def add_times(
        self, title: str, seconds: Mapping[str, Sequence[float]], *, note: str = ""
    ) -> None:
        """A table of durations: how many, p50, p95, p99, the longest."""
        rows = [
            [
                name,
                str(len(each)),
                *(_milliseconds(percentile(each, share)) for share in (0.5, 0.95, 0.99, 1.0)),
            ]
            for name, each in seconds.items()
        ]
        columns = ["", "n", "p50", "p95", "p99", "longest"]
        data = {name: [round(value, 6) for value in each] for name, each in seconds.items()}
        self.sections.append(Section(title, columns, rows, data, note))

    def add_table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
    ) -> None:
        """A table of another kind, its cells ready to print."""
        texts = [[str(cell) for cell in row] for row in rows]
        self.sections.append(Section(title, columns, texts, {}, note))

    def at_least(self, what: str, found: float, wanted: float) -> None:
        """A goal for something that should be large: a ratio, a rate."""
        self.goals.append(Goal(what, f"≥ {wanted:g}", f"{found:.3g}", found >= wanted))

    def at_most(self, what: str, found: float, wanted: float, *, unit: str = "") -> None:
        """A goal for something that should be small: a time, a size, a share."""
        blank = " " if unit else ""
        self.goals.append(
            Goal(what, f"≤ {wanted:g}{blank}{unit}", f"{found:.3g}{blank}{unit}", found <= wanted)
        )

    def account(self, what: str, *, found: object, expected: object, told: str = "") -> None:
        """Every benchmark ends with these. Raises AccountFailed where the two differ.

        `told` stands for the figure where that is too long to tell.
        """
        if found != expected:
            raise AccountFailed(f"{what}: {found!s:.200} instead of {expected!s:.200}")
        line = f"{what}: {told or found}"
        self.accounts[line] = self.accounts.get(line, 0) + 1

    def markdown(self) -> str:
        """The whole as Markdown."""
        parts = [f"### {self.title}"]
        for section in self.sections:
            parts += [f"**{section.title}**", table(section.columns, section.rows)]
            parts += [section.note] if section.note else []
        if self.goals:
            rows = [
                [goal.what, goal.wanted, goal.found, "yes" if goal.met else "**no**"]
                for goal in self.goals
            ]
            parts += [table(["goal", "wanted", "found", "met"], rows)]
        if self.accounts:
            lines = [f"{line} (seen {times} times)" for line, times in self.accounts.items()]
            parts += [f"Account: {'; '.join(lines)}."]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path) -> None:
        """NAME.json and NAME.md."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (folder / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        (folder / f"{self.name}.md").write_text(self.markdown(), encoding="utf-8")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, what is a figure to the right."""
    marks = [
        "---:" if number and all(_is_figure(row[number]) for row in rows) else "---"
        for number in range(len(columns))
    ]
    lines = [list(columns), marks, *[[cell.replace("|", "\\|") for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rate_row(name: str, samples: Sequence[Sample]) -> list[str]:
    rates = spread([sample.rate for sample in samples])
    cpu = [sample.cpu_us for sample in samples if sample.cpu_us is not None]
    peak = [sample.peak_mb for sample in samples if sample.peak_mb is not None]
    return [
        name,
        _count(rates.median),
        f"{_count(rates.least)} … {_count(rates.greatest)}",
        f"{_count(spread(cpu).median)} µs" if cpu else "",
        f"{max(peak):.0f} MB" if peak else "",
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"


def _is_figure(text: str) -> bool:
    return not text or text[0].isdigit() or text[0] in "≤≥-"
