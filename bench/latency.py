"""From an editor's click to the catalog: at 20 a second, at 70 % of the full rate, and at rest.

`python -m bench.latency [--quick] [--rounds N]`. Relay and both consumers run as in life; the
two databases take turns.
"""

import json
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from bench import child
from bench.commit_moments import keep_commit_moments, watched
from bench.database import fill_outbox
from bench.effects import settle_consumer
from bench.facts import make_facts, write_facts
from bench.figures import Sample, percentile
from bench.house import House, running
from bench.report import Report
from bench.runner import Options, choose_databases, run
from bench.stage import Kind, Stage, say
from bench.wire import CONSUMERS

CLICKS_A_SECOND = 20
SHARE_OF_FULL_RATE = 0.7
GOALS: dict[Kind, tuple[float, float]] = {"PostgreSQL": (15, 60), "SQLite": (40, 80)}


class Course:
    """What is measured of one house, round after round."""

    def __init__(self, stage: Stage, house: House, options: Options) -> None:
        self.house = house
        self.clicks: list[float] = []
        self.after_commit: list[float] = []
        self.busy: list[float] = []
        self.full: list[Sample] = []
        self._stage, self._options = stage, options
        self._facts_made = 0

    def warm_up(self) -> None:
        """The first message of a process pays for much that no later one does."""
        self.rush()
        self.full.clear()

    def click(self, number: int) -> None:
        """Clicks at an even pace."""
        count = CLICKS_A_SECOND * self._options.size(4, quick=1)
        file = self._stage.folder / f"clicks-{self.house.kind}-{number}.json"
        options: dict[str, object] = {
            "count": count,
            "prefix": f"clicked-{number}",
            "a_second": CLICKS_A_SECOND,
            "moments": str(file),
        }
        self._latencies("clicks", options, file, count + 1, self.clicks, self.after_commit)

    def rush(self) -> None:
        """As many as there can be: a full outbox until both consumers have handled it."""
        facts = make_facts(self._options.size(8000, quick=400), first=self._facts_made)
        self._facts_made += len(facts)
        last, cpu_before = self.house.last_receipt(), self.house.cpu_seconds()
        began = time.monotonic()
        fill_outbox(self.house.database, facts)
        self.house.await_handled(len(facts), after=last)
        seconds = time.monotonic() - began
        self.full.append(Sample(len(facts), seconds, self.house.cpu_seconds() - cpu_before))

    def flow(self, number: int) -> None:
        """70 % of the rate just seen, for some seconds."""
        pace = self.full[-1].rate * SHARE_OF_FULL_RATE
        facts = make_facts(int(pace * self._options.size(4, quick=1)), first=self._facts_made)
        self._facts_made += len(facts)
        file = self._stage.folder / f"flow-{self.house.kind}-{number}.json"
        options: dict[str, object] = {
            "facts": str(write_facts(facts, file.with_suffix(".jsonl"))),
            "a_second": pace,
            "moments": str(file),
        }
        self._latencies("inflow", options, file, len(facts), self.busy, [])

    def _latencies(
        self,
        module: str,
        options: dict[str, object],
        file: Path,
        count: int,
        from_call: list[float],
        from_commit: list[float],
    ) -> None:
        last = self.house.last_receipt()
        part = child.Part(module, self.house.environment, options)
        with watched(self.house.environment["DATABASE_URL"]) as moments:
            child.play(self._stage, part)
            self.house.await_handled(count, after=last)
        for event_id, (called, committed) in json.loads(file.read_text(encoding="ascii")).items():
            from_call.append(moments[event_id] - called)
            from_commit.append(moments[event_id] - committed)


def measure(stage: Stage, report: Report, options: Options) -> None:
    if "PostgreSQL" in options.kinds:
        keep_commit_moments(stage)
    with ExitStack() as stack:
        courses = {}
        for kind in options.kinds:
            url = stack.enter_context(stage.database(kind))
            house = stack.enter_context(running(stage, kind, stage.environment(url)))
            courses[kind] = Course(stage, house, options)
            courses[kind].warm_up()
        for number in range(options.rounds):
            for kind, course in courses.items():
                course.click(number)
                course.rush()
                course.flow(number)
                shown = percentile(course.clicks, 0.5) * 1000
                say(f"round {number + 1} of {options.rounds}  {kind:12} median {shown:.1f} ms")
        idle = _idle(courses, seconds=options.size(20, quick=2))
        for course in courses.values():
            _account(report, course.house)

    _tell(report, courses, idle)


def _idle(courses: dict[Kind, Course], *, seconds: float) -> dict[Kind, float]:
    """The share of a core that relay and consumers use together while nothing happens."""
    time.sleep(2)
    before = {kind: course.house.cpu_seconds() for kind, course in courses.items()}
    time.sleep(seconds)
    return {
        kind: (course.house.cpu_seconds() - before[kind]) / seconds
        for kind, course in courses.items()
    }


def _account(report: Report, house: House) -> None:
    facts = house.sent_facts()
    for consumer in CONSUMERS:
        settle_consumer(report, house.database, consumer, facts)
    unsent = house.database.value(
        "SELECT COUNT(*) FROM messaging_outboxmessage WHERE state <> 'sent'"
    )
    report.account("outbox rows not sent", found=unsent, expected=0)


def _tell(report: Report, courses: dict[Kind, Course], idle: dict[Kind, float]) -> None:
    times: dict[str, list[float]] = defaultdict(list)
    for kind, course in courses.items():
        times[f"{kind}, from the call of publish"] = course.clicks
        times[f"{kind}, from its commit"] = course.after_commit
        times[f"{kind}, at 70 % of the full rate"] = course.busy
    report.add_times("Click to committed in the catalog, 20 a second", times)
    report.add_rates(
        "The full rate, outbox to both consumers",
        {kind: course.full for kind, course in courses.items()},
        note="CPU is that of relay and both consumers.",
    )
    report.add_table(
        "At rest: relay and both consumers together",
        ["database", "share of a core"],
        [[kind, f"{share * 100:.1f} %"] for kind, share in idle.items()],
    )
    for kind, course in courses.items():
        for share, wanted in zip((0.5, 0.99), GOALS[kind], strict=True):
            found = percentile(course.clicks, share) * 1000
            report.at_most(
                f"click to catalog, p{share * 100:.0f}, {kind}", found, wanted, unit="ms"
            )
        found = percentile(course.busy, 0.99) * 1000
        report.at_most(f"at 70 % of the full rate, p99, {kind}", found, 1000, unit="ms")
        report.at_most(f"at rest, {kind}", idle[kind] * 100, 3, unit="% of a core")


if __name__ == "__main__":
    sys.exit(run("latency", "Latency: click to catalog", measure, add_arguments=choose_databases))
