"""What every benchmark's command shares: options, the stage, the report, the exit code."""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.report import AccountFailed, Report
from bench.stage import KINDS, PROJECT, Kind, Stage, say, stage
from dev import services

RESULTS = PROJECT / "bench" / "results"
ROUNDS, QUICK_ROUNDS = 5, 1
DONE, FAILED, CONFIGURATION, STOPPED = 0, 1, 3, 130


@dataclass(frozen=True)
class Options:
    """`quick`: a smoke run of seconds, whose figures mean nothing."""

    quick: bool
    rounds: int
    given: argparse.Namespace

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The databases to measure on (see `choose_databases`)."""
        return (self.given.only,) if self.given.only else KINDS

    @property
    def services(self) -> list[str]:
        """The programs that a stage starts, by `dev.services`."""
        given = self.given
        broker = [] if given.broker else ["rabbitmq-server"]
        return broker if getattr(given, "only", None) == "SQLite" else [*broker, "postgresql"]

    def size(self, usual: int, *, quick: int) -> int:
        """How many of something: the usual number, or few in a quick run."""
        return quick if self.quick else usual


def choose_databases(parser: argparse.ArgumentParser) -> None:
    """The option of a benchmark that measures on both databases."""
    parser.add_argument("--only", choices=KINDS, help="measure on this database alone")


def run(
    name: str,
    title: str,
    measure: Callable[[Stage, Report, Options], None],
    *,
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> int:
    """Run a benchmark as a command, and give its exit code.

    0 done, 1 when an account does not add up, 3 where a program to start is not installed and
    cannot be, 130 by Ctrl-C. The report is printed and written below --results. A goal that is
    missed is told there and is no failure: the machine may have been busy.
    """
    options = _parse(title, add_arguments)
    if services.missing(options.services, wanted_by="the benchmarks"):
        return CONFIGURATION
    report = Report(name, title, circumstances=_circumstances(quick=options.quick))
    began = time.monotonic()
    try:
        with stage(broker_url=options.given.broker) as place:
            measure(place, report, options)
    except KeyboardInterrupt:
        say("stopped; nothing is left running")
        return STOPPED
    except AccountFailed as failure:
        say(f"THE ACCOUNT DOES NOT ADD UP: {failure}")
        return FAILED
    report.circumstances["seconds"] = round(time.monotonic() - began)
    report.write(options.given.results)
    print(report.markdown())
    return DONE


def _parse(title: str, add_arguments: Callable[[argparse.ArgumentParser], None]) -> Options:
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--quick", action="store_true", help="a smoke run in seconds")
    parser.add_argument("--rounds", type=int, help=f"turns of each contestant (usual: {ROUNDS})")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--broker", metavar="URL", help="use this broker, not one of its own")
    add_arguments(parser)
    given = parser.parse_args()
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    return Options(quick=given.quick, rounds=rounds, given=given)


def _circumstances(*, quick: bool) -> dict[str, object]:
    """What the figures depend on, and nothing that names a person or a machine."""
    return {
        "quick": quick,
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "django": version("Django"),
        "psycopg": version("psycopg"),
        "pika": version("pika"),
        "system": f"{sys.platform} {platform.machine()}",
    }
