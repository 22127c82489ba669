"""Whether the rates hold when the tables are large, and what a long backlog costs in memory.

`python -m bench.growth [--quick] [--facts N] [--materials N] [--backlog N]`. PostgreSQL alone.
The plans of the hot queries on the large tables are written to plans.md beside the results.
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.backlog import fill_queue, make_backlog, watch
from bench.database import Database, fill_outbox
from bench.facts import make_facts, write_facts
from bench.figures import Sample, ratio
from bench.grown import grow
from bench.growth_turns import ACTIVE, GrowthTurns
from bench.house import running
from bench.report import Report
from bench.runner import Options, run
from bench.stage import PROJECT, Stage, say
from bench.turns import Contestant, take_turns
from bench.wire import wire

MOST_MB = 120
_SENT = "SELECT COUNT(*) FROM messaging_outboxmessage WHERE state = 'sent' AND id > {last}"
_RECEIPTS = "SELECT COUNT(*) FROM messaging_inboxreceipt WHERE id > {last}"


class Growth:
    """One database of `facts` facts about `materials` materials, and a small one beside it."""

    def __init__(self, stage: Stage, report: Report, options: Options) -> None:
        self._stage, self._report, self._options = stage, report, options
        given = options.given
        self.facts = given.facts or options.size(10_000_000, quick=40_000)
        self.materials = given.materials or options.size(1_000_000, quick=2 * ACTIVE)
        self.backlog = given.backlog or options.size(1_000_000, quick=30_000)
        self._revisions = self.facts // self.materials
        self._newest = self._revisions + -(-self.backlog // self.materials)
        self._samples: dict[str, list[Sample]] = {}

    def measure(self, small: str, large: str) -> None:
        waiting = self._stage.environment(large)
        with wire(waiting) as line, ThreadPoolExecutor(1) as aside:
            messages = make_backlog(
                self.backlog, materials=self.materials, revision=self._revisions + 1
            )
            queue = line.topology.main("catalog")
            filling = aside.submit(fill_queue, waiting["AMQP_URL"], messages, queue)
            say(f"making {self.facts} facts of {self.materials} materials")
            grow(small, facts=ACTIVE * self._revisions, materials=ACTIVE)
            grow(large, facts=self.facts, materials=self.materials)
            filling.result()
            self._consume_backlog(waiting)
        self._compare(small, large)
        self._relay_backlog(large)
        self._report.add_rates(f"In front of a backlog of {self.backlog}", self._samples)
        for name, (sample,) in self._samples.items():
            self._report.at_most(f"peak memory, {name}", sample.peak_mb or 0, MOST_MB, unit="MB")

    def _compare(self, small: str, large: str) -> None:
        count = self._options.size(10_000, quick=500)
        turns = {
            name: GrowthTurns(self._stage, self._report, url, old=self._newest)
            for name, url in (("young", small), ("grown", large))
        }
        contestants = [
            Contestant(f"relay_outbox, {name}", partial(turn.play, count))
            for name, turn in turns.items()
        ]
        samples = dict(take_turns(contestants, rounds=self._options.rounds))
        samples |= {f"consume catalog, {name}": turn.consumed for name, turn in turns.items()}
        title = f"With {self.facts} sent rows, as many receipts, {self.materials} materials"
        self._report.add_rates(title, samples)
        for what in ("relay_outbox", "consume catalog"):
            young = [sample.rate for sample in samples[f"{what}, young"]]
            grown = [sample.rate for sample in samples[f"{what}, grown"]]
            self._report.at_least(f"{what}: grown to young", ratio(grown, young).median, 0.85)

    def _consume_backlog(self, environment: dict[str, str]) -> None:
        database = Database(environment["DATABASE_URL"])
        last = database.value("SELECT MAX(id) FROM messaging_inboxreceipt")
        done = _RECEIPTS.format(last=last)
        seconds = self._options.size(15, quick=1)
        with running(self._stage, "PostgreSQL", environment, commands=("catalog",)) as house:
            sample = watch(house, "catalog", done, seconds=seconds)
            left = house.line.ready(house.line.topology.main("catalog"))
        self._samples["consume catalog"] = [sample]
        self._report.account(
            "messages of the backlog, applied once or still waiting",
            found=database.value(done) + left,
            expected=self.backlog,
        )
        database.close()

    def _relay_backlog(self, url: str) -> None:
        database = Database(url)
        last = database.value("SELECT MAX(id) FROM messaging_outboxmessage")
        say(f"storing {self.backlog} pending rows")
        revision = self._newest + 1000  # beyond what the turns have reached
        fill_outbox(
            database, make_backlog(self.backlog, materials=self.materials, revision=revision)
        )
        self._explain(url)
        before = database.value(_SENT.format(last=last))
        environment = self._stage.environment(url)
        seconds = self._options.size(15, quick=1)
        with running(self._stage, "PostgreSQL", environment, commands=("relay",)) as house:
            sample = watch(house, "relay", _SENT.format(last=last), seconds=seconds)
            arrived = house.line.ready(house.line.topology.main("catalog"))
        self._samples["relay_outbox"] = [sample]
        self._report.account(
            "rows marked sent without one message in the queue, or the reverse",
            found=database.value(_SENT.format(last=last)) - before - arrived,
            expected=0,
        )
        database.close()

    def _explain(self, url: str) -> None:
        say("explaining the hot queries")
        facts = make_facts(500, materials=ACTIVE, first=(self._newest + 500) * ACTIVE)
        file = write_facts(facts, self._stage.folder / "explained.jsonl")
        environment = self._stage.environment(url)
        with wire(environment):
            done = subprocess.run(
                [sys.executable, "-m", "bench.plans", str(file)],
                cwd=PROJECT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"the plans could not be made:\n{done.stderr[-3000:]}")
        folder: Path = self._options.given.results
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plans.md").write_text(done.stdout, encoding="utf-8")


def measure(stage: Stage, report: Report, options: Options) -> None:
    with stage.database("PostgreSQL") as small, stage.database("PostgreSQL") as large:
        Growth(stage, report, options).measure(small, large)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--facts", type=int, help="sent rows and receipts (10 million)")
    parser.add_argument("--materials", type=int, help="materials among them (1 million)")
    parser.add_argument("--backlog", type=int, help="rows, and messages, that wait (1 million)")


if __name__ == "__main__":
    title = "Growth: large tables, long backlogs"
    sys.exit(run("growth", title, measure, add_arguments=add_arguments))
