"""How fast a consumer applies what waits for it: beside the limit, the naive loop and the peers.

`python -m bench.consume [--quick] [--rounds N]`; the peers are in `bench.peer_workers`.
"""

import argparse
import sys
from functools import partial

from bench.consume_turns import ConsumeTurns
from bench.figures import ratio
from bench.peer_workers import peer_contestants
from bench.report import Report
from bench.runner import Options, run
from bench.stage import Stage
from bench.turns import Contestant, take_turns

CONSUMERS = ("catalog", "audit")


def measure(stage: Stage, report: Report, options: Options) -> None:
    turns = ConsumeTurns(stage, report, options)
    contestants = [
        *(
            Contestant(f"{what} {consumer}, PostgreSQL", partial(play, "PostgreSQL", consumer))
            for consumer in CONSUMERS
            for what, play in (
                ("consume", turns.product),
                ("raw psycopg,", turns.raw),
                ("naive loop,", turns.naive),
            )
        ),
        Contestant(
            "two processes of consume catalog, PostgreSQL",
            partial(turns.product, "PostgreSQL", "catalog", processes=2),
        ),
        Contestant("consume catalog, one in 100 unreadable", turns.unreadable),
        Contestant("consume catalog, one in 100 refused by the handler", turns.refused),
        Contestant("consume catalog, SQLite", partial(turns.product, "SQLite", "catalog")),
        Contestant("naive loop, catalog, SQLite", partial(turns.naive, "SQLite", "catalog")),
        Contestant("relay and consume catalog together", turns.product_pair),
        Contestant("naive relay and naive loop together", turns.naive_pair),
    ]
    if not options.given.no_peers:
        contestants += peer_contestants(stage, report, turns.few)
    samples = take_turns(contestants, rounds=options.rounds)
    remarks = {each.name: each.remark for each in contestants}
    report.add_rates("Messages a second out of a full queue", samples, notes=remarks)
    rates = {name: [sample.rate for sample in each] for name, each in samples.items()}
    for consumer in CONSUMERS:
        mine = rates[f"consume {consumer}, PostgreSQL"]
        share = ratio(mine, rates[f"raw psycopg, {consumer}, PostgreSQL"])
        gain = ratio(mine, rates[f"naive loop, {consumer}, PostgreSQL"])
        report.at_least(f"share of raw psycopg, {consumer}", share.median, 0.9)
        report.at_least(f"times the naive loop, {consumer}, PostgreSQL", gain.median, 30)
    one = rates["consume catalog, PostgreSQL"]
    for what, name, reference, wanted in (
        (
            "times the naive loop, SQLite",
            "consume catalog, SQLite",
            "naive loop, catalog, SQLite",
            8,
        ),
        ("two processes to one", "two processes of consume catalog, PostgreSQL", "", 1.4),
        (
            "times the naive pair, on two cores",
            "relay and consume catalog together",
            "naive relay and naive loop together",
            25,
        ),
    ):
        gain = ratio(rates[name], rates[reference] if reference else one)
        report.at_least(what, gain.median, wanted)
    for what in ("unreadable", "refused by the handler"):
        left = ratio(rates[f"consume catalog, one in 100 {what}"], one)
        report.at_most(f"part of the rate lost to one in 100 {what}", 1 - left.median, 0.333)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")


if __name__ == "__main__":
    sys.exit(run("consume", "Consumers: queue to projection", measure, add_arguments=add_arguments))
