"""How fast the operators' pages are over a million dead letters.

    .venv/bin/python -m bench.dead_letters [--letters 1000000] [--quick]

Each page is asked for by a client inside the process that makes it, one after another: what is
measured is the page with its queries, not the web server.
"""

import argparse
import json
import subprocess
import sys
import time

from bench.figures import percentile
from bench.report import Report, Section
from bench.runner import Options, run
from bench.stage import KINDS, PROJECT, Kind, Stage, say

NAME, TITLE = "dead_letters", "The operators' pages over many dead letters"
LETTERS, QUICK_LETTERS = 1_000_000, 20_000
ASKED, QUICK_ASKED = 20, 3
WANTED_MS = 150.0
# These add up every open letter, every letter there is, or the latest 2 500 receipts of each
# consumer; all others are lists and look-ups.
NOT_LISTS = ("open, by failure", "all, by failure", "the queues")


def main() -> int:
    return run(NAME, TITLE, measure, add_arguments=add_arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--letters", type=int, help=f"how many (usual: {LETTERS})")
    parser.add_argument("--only", choices=KINDS, help="on this database alone")


def measure(place: Stage, report: Report, options: Options) -> None:
    """Fill, ask, tell; on each database."""
    letters = options.given.letters or options.size(LETTERS, quick=QUICK_LETTERS)
    for kind in KINDS:
        if options.given.only in (None, kind):
            _measure_on(place, report, kind, letters, asked=options.size(ASKED, quick=QUICK_ASKED))
            report.write(options.given.results)  # the next may be stopped


def _measure_on(place: Stage, report: Report, kind: Kind, letters: int, *, asked: int) -> None:
    with place.database(kind) as url:
        environment = place.environment(url)
        place.manage(environment, "declare_topology")
        began = time.monotonic()
        _child(environment, "fill", str(letters))
        say(f"{kind}: {letters} letters made in {time.monotonic() - began:.0f} s")
        pages = json.loads(_child(environment, "ask", str(asked), str(letters)))
    rows = [
        [
            name,
            *(f"{percentile(page['seconds'], share) * 1000:.0f} ms" for share in (0.5, 0.95)),
            f"{percentile(page['cpu'], 0.5) * 1000:.0f} ms",
            page["queries"],
            page["rows"],
        ]
        for name, page in pages.items()
    ]
    columns = ["page", "p50", "p95", "CPU of the process", "queries", "rows shown"]
    texts = [[str(cell) for cell in row] for row in rows]
    title = f"{kind}, {letters:,} letters".replace(",", " ")
    report.sections.append(Section(title, columns, texts, pages))
    lists = [page["seconds"] for name, page in pages.items() if name not in NOT_LISTS]
    slowest = max(percentile(seconds, 0.95) for seconds in lists) * 1000
    report.at_most(f"{kind}: p95 of the slowest list", slowest, WANTED_MS, unit="ms")


def _child(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "bench.letter_pages", *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
