"""How fast the pages of readers, editors and admin are over a large library, with one worker.

    .venv/bin/python -m bench.pages [--materials 1000000] [--quick] [--only SQLite]

Fills a database set by set, starts the site as it is shipped but with one worker, and asks each
page over HTTP on loopback, one request after another on one connection. Beside the times stands
the CPU of site and database, which another load on the machine does not lengthen. `--database URL`
asks one that was filled before.
"""

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import psycopg

from bench.figures import percentile
from bench.page_visits import visits
from bench.process_tree import cpu_seconds
from bench.report import Report, Section
from bench.runner import Options, choose_databases, run
from bench.stage import PROJECT, Kind, Stage, say
from dev.free_ports import LOOPBACK, free_port

NAME, TITLE = "pages", "The pages of readers, editors and admin over a large library"
MATERIALS: dict[Kind, int] = {"PostgreSQL": 1_000_000, "SQLite": 100_000}
QUICK_MATERIALS = 3000
ASKED, QUICK_ASKED = 60, 3
WANTED_MS = 150.0
START_SECONDS, LONGEST_SECONDS = 30, 60


def main() -> int:
    return run(NAME, TITLE, measure, add_arguments=add_arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--materials", type=int, help="how many, on each database")
    parser.add_argument("--database", metavar="URL", help="filled by an earlier run")
    choose_databases(parser)


def measure(place: Stage, report: Report, options: Options) -> None:
    """Fill, ask, tell; on each database."""
    asked = options.size(ASKED, quick=QUICK_ASKED)
    for kind in options.kinds:
        usual = options.size(MATERIALS[kind], quick=QUICK_MATERIALS)
        materials = options.given.materials or usual
        if options.given.database:
            _measure_on(place, report, kind, options.given.database, materials, asked=asked)
            continue
        with place.database(kind) as url:
            began = time.monotonic()
            _child(place.environment(url), "fill", str(materials))
            say(f"{kind}: {materials} materials made in {time.monotonic() - began:.0f} s")
            _measure_on(place, report, kind, url, materials, asked=asked)


def _measure_on(
    place: Stage, report: Report, kind: Kind, url: str, materials: int, *, asked: int
) -> None:
    environment = place.environment(url, LOG_LEVEL="WARNING")
    cookies = json.loads(_child(environment, "sign-in"))
    queries = json.loads(_child(environment, "queries", str(materials)))
    seconds: dict[str, list[float]] = {}
    cpu: dict[str, float] = {}
    with _site(place, environment) as (port, site):
        for name, addresses in visits(materials).items():
            before = _cpu_seconds(site, url)
            seconds[name] = list(_ask(port, addresses, cookies, times=asked))
            cpu[name] = (_cpu_seconds(site, url) - before) / asked
            say(
                f"  {kind}  {name:24} p95 {percentile(seconds[name], 0.95) * 1000:7.1f} ms"
                f"  CPU {cpu[name] * 1000:6.1f} ms  {queries[name]} queries"
            )
    rows = [
        [
            name,
            *(f"{percentile(each, share) * 1000:.1f} ms" for share in (0.5, 0.95, 0.99)),
            f"{cpu[name] * 1000:.1f} ms",
            str(queries[name]),
        ]
        for name, each in seconds.items()
    ]
    title = f"{kind}, {materials:,} materials".replace(",", " ")
    data = {
        name: {
            "seconds": [round(each, 6) for each in found],
            "cpu_seconds": round(cpu[name], 6),
            "queries": queries[name],
        }
        for name, found in seconds.items()
    }
    columns = ["page", "p50", "p95", "p99", "CPU", "queries"]
    report.sections.append(Section(title, columns, rows, data))
    slowest = max(percentile(each, 0.95) for each in seconds.values()) * 1000
    report.at_most(f"{kind}: p95 of the slowest page", slowest, WANTED_MS, unit="ms")


@contextmanager
def _site(place: Stage, environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """The port of the site while it runs, and its process."""
    port = free_port()
    command = ["gunicorn", "--workers=1", f"--bind={LOOPBACK}:{port}"]
    process = place.start([sys.executable, "-m", *command], environment, name="gunicorn")
    try:
        _await_start(port)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def _cpu_seconds(site: int, url: str) -> float:
    """Of the site, and of the whole PostgreSQL server, which serves nobody else."""
    if url.startswith("sqlite:"):
        return cpu_seconds(site)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert found is not None
        status = Path(f"/proc/{found[0]}/stat").read_text(encoding="ascii", errors="replace")
        server = int(status.rpartition(")")[2].split()[1])
        return cpu_seconds(site) + cpu_seconds(server)


def _await_start(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            list(_ask(port, ["/healthz"], {}, times=1))
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _ask(
    port: int, addresses: list[str], cookies: dict[str, str], *, times: int
) -> Iterator[float]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=LONGEST_SECONDS)
    for address in islice(cycle(addresses), times):
        own = [cookie for place, cookie in cookies.items() if address.startswith(place)]
        headers = {"Cookie": own[0]} if own else {}
        began = time.perf_counter()
        connection.request("GET", address, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        taken = time.perf_counter() - began
        if answer.status not in (200, 404, 410) or not body:
            raise RuntimeError(f"{address} answered {answer.status}")
        yield taken
    connection.close()


def _child(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "bench.page_visits", *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
