"""What storing a fact costs: a click, the outbox row alone, an import, beside plain statements.

`python -m bench.publish [--quick] [--rounds N]`. Each turn has a fresh database.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from bench import child
from bench.database import Database
from bench.facts import make_facts, write_facts
from bench.figures import Sample, ratio
from bench.report import Report
from bench.runner import Options, choose_databases, run
from bench.stage import Kind, Stage
from bench.turns import Contestant, take_turns

_FILE = """---
title: A title of usual length
summary: A sentence that tells readers what they will find.
tags: [benchmark]
---
{text}
"""


class PublishTurns:
    """Each turn leaves one pending row and, but for the outbox alone, one revision a fact."""

    def __init__(self, stage: Stage, report: Report, options: Options) -> None:
        self._stage, self._report = stage, report
        self._count = options.size(300, quick=50)
        facts = make_facts(self._count, materials=self._count)
        self._facts = str(write_facts(facts, stage.folder / "facts.jsonl"))
        self._folder = _write_files(stage.folder / "import", self._count)

    def click(self, kind: Kind) -> Sample:
        options: dict[str, object] = {"count": self._count, "prefix": "article"}
        return self._turn(kind, "clicks", options)

    def plain_click(self, kind: Kind) -> Sample:
        options: dict[str, object] = {"facts": self._facts, "outbox_only": False}
        return self._turn(kind, "raw_clicks", options)

    def record(self, kind: Kind) -> Sample:
        return self._turn(kind, "recording", {"facts": self._facts}, revisions=0)

    def plain_record(self, kind: Kind) -> Sample:
        options: dict[str, object] = {"facts": self._facts, "outbox_only": True}
        return self._turn(kind, "raw_clicks", options, revisions=0)

    def import_folder(self, kind: Kind) -> Sample:
        options: dict[str, object] = {"folder": str(self._folder), "count": self._count}
        return self._turn(kind, "importing", options)

    def _turn(
        self, kind: Kind, module: str, options: dict[str, object], *, revisions: int | None = None
    ) -> Sample:
        wanted = self._count if revisions is None else revisions
        with self._stage.database(kind) as url:
            environment = self._stage.environment(url)
            sample = child.play(self._stage, child.Part(module, environment, options))
            database = Database(url)
            for what, sql, expected in (
                ("pending rows, each of another event", _EVENTS, self._count),
                ("revisions, each with its outbox row", _REVISIONS, wanted),
            ):
                self._report.account(what, found=database.value(sql), expected=expected)
            database.close()
            return sample


_EVENTS = "SELECT COUNT(DISTINCT event_id) FROM messaging_outboxmessage WHERE state = 'pending'"
_REVISIONS = (
    "SELECT COUNT(*) FROM materials_revision r JOIN messaging_outboxmessage o"
    " ON o.event_id = r.event_id AND o.material_id = r.material_id AND o.revision = r.number"
)


def measure(stage: Stage, report: Report, options: Options) -> None:
    turns = PublishTurns(stage, report, options)
    plays = {
        "actions.publish, a click": turns.click,
        "its statements alone": turns.plain_click,
        "outbox.record in a transaction": turns.record,
        "its row alone": turns.plain_record,
        "import_materials --publish": turns.import_folder,
    }
    for kind in options.kinds:
        contestants = [Contestant(name, partial(play, kind)) for name, play in plays.items()]
        samples = take_turns(contestants, rounds=options.rounds)
        report.add_rates(f"Facts a second into the outbox, {kind}", samples)
        report.add_table(
            f"Product to plain statements, {kind}",
            ["", "ratio", "min … max"],
            [
                _share(samples, "actions.publish, a click", "its statements alone"),
                _share(samples, "outbox.record in a transaction", "its row alone"),
            ],
        )


def _share(samples: Mapping[str, Sequence[Sample]], name: str, limit: str) -> list[str]:
    share = ratio(*([sample.rate for sample in samples[each]] for each in (name, limit)))
    return [f"{name} / {limit}", f"{share.median:.2f}", f"{share.least:.2f} … {share.greatest:.2f}"]


def _write_files(folder: Path, count: int) -> Path:
    folder.mkdir()
    text = "Some *Markdown* text. " * 14
    for number in range(count):
        (folder / f"imported-{number}.md").write_text(_FILE.format(text=text), encoding="utf-8")
    return folder


if __name__ == "__main__":
    sys.exit(run("publish", "Publishing: click to outbox", measure, add_arguments=choose_databases))
