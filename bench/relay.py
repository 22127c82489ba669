"""How fast the outbox is emptied: beside the limit, the naive loop and the peer.

`python -m bench.relay [--quick] [--rounds N]`. Each turn has a fresh database and namespace.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from bench import child
from bench.database import Database, fill_outbox
from bench.facts import Fact, make_facts, write_facts
from bench.figures import Sample, ratio
from bench.peer_relay import name_on, peer_contestants
from bench.report import Report
from bench.runner import Options, choose_databases, run
from bench.stage import Kind, Stage
from bench.turns import Contestant, take_turns
from bench.wire import Wire, wire

QUEUE_TYPES = ("classic", "quorum")


class RelayTurns:
    """The turns of each contestant; what is in the outbox is on the wire afterwards, once."""

    def __init__(self, stage: Stage, report: Report, options: Options) -> None:
        self._stage, self._report = stage, report
        self._facts = make_facts(options.size(15_000, quick=600))
        self.some = self._facts[: options.size(1500, quick=100)]
        self._few = self._facts[: options.size(300, quick=50)]
        self._file = write_facts(self._facts, stage.folder / "facts.jsonl")

    def product(self, kind: Kind, queue_type: str) -> Sample:
        with self._outbox(kind, queue_type, self._facts) as (environment, _):
            options: dict[str, object] = {"count": len(self._facts)}
            return child.play(self._stage, child.Part("relay_outbox", environment, options))

    def naive(self, kind: Kind) -> Sample:
        with self._outbox(kind, "classic", self._few) as (environment, line):
            options: dict[str, object] = {"exchange": line.topology.events}
            return child.play(self._stage, child.Part("naive_relay", environment, options))

    def publish_only(self, queue_type: str) -> Sample:
        environment = self._stage.environment("sqlite:///unused", DELIVERY_QUEUE_TYPE=queue_type)
        with wire(environment) as line:
            options: dict[str, object] = {
                "facts": str(self._file),
                "exchange": line.topology.events,
            }
            sample = child.play(self._stage, child.Part("publish_only", environment, options))
            self._settle(line, self._facts)
            return sample

    @contextmanager
    def _outbox(
        self, kind: Kind, queue_type: str, facts: list[Fact]
    ) -> Iterator[tuple[dict[str, str], Wire]]:
        with self._stage.database(kind) as url:
            environment = self._stage.environment(url, DELIVERY_QUEUE_TYPE=queue_type)
            database = Database(url)
            fill_outbox(database, facts)
            with wire(environment) as line:
                yield environment, line
                self._settle(line, facts)
            self._report.account(
                "outbox rows that are marked sent, of each run of a relay",
                found=database.value(
                    "SELECT COUNT(*) FROM messaging_outboxmessage WHERE state = 'sent'"
                ),
                expected=len(facts),
            )
            database.close()

    def _settle(self, line: Wire, facts: list[Fact]) -> None:
        """Each event once in each queue, each material's in order, byte for byte."""
        wanted = [(fact.event_id, fact.body) for fact in facts]
        for consumer in ("catalog", "audit"):
            self._report.account(
                f"runs after which the {consumer} queue holds each event once, in order",
                found="every one"
                if line.take_all(line.topology.main(consumer)) == wanted
                else "no",
                expected="every one",
            )


def measure(stage: Stage, report: Report, options: Options) -> None:
    turns = RelayTurns(stage, report, options)
    queue_types = QUEUE_TYPES[: options.size(2, quick=1)]
    contestants = []
    for queue_type in queue_types:
        contestants += [
            Contestant(_limit(queue_type), partial(turns.publish_only, queue_type), "no database"),
            *(
                Contestant(_product(kind, queue_type), partial(turns.product, kind, queue_type))
                for kind in options.kinds
            ),
        ]
    contestants += [
        Contestant(f"naive loop, {kind}", partial(turns.naive, kind), "") for kind in options.kinds
    ]
    if "PostgreSQL" in options.kinds and not options.given.no_peers:
        contestants += peer_contestants(stage, report, turns.some, queue_types)
    samples = take_turns(contestants, rounds=options.rounds)
    remarks = {each.name: each.remark for each in contestants}
    report.add_rates("Outbox rows a second to the broker", samples, notes=remarks)
    rates = {name: [sample.rate for sample in each] for name, each in samples.items()}
    for queue_type in queue_types:
        for kind in options.kinds:
            share = ratio(rates[_product(kind, queue_type)], rates[_limit(queue_type)])
            what = f"share of the publish-only rate, {kind}, {queue_type}"
            report.at_least(what, share.median, 0.85)
    for kind in options.kinds:
        gain = ratio(rates[_product(kind, "classic")], rates[f"naive loop, {kind}"])
        report.at_least(f"times the naive loop, {kind}", gain.median, 10)
    for queue_type in queue_types:
        if name_on(queue_type) in rates:
            gain = ratio(rates[_product("PostgreSQL", queue_type)], rates[name_on(queue_type)])
            report.at_least(f"times django-outbox-pattern, {queue_type}", gain.median, 10)


def _product(kind: Kind, queue_type: str) -> str:
    return f"relay_outbox, {kind}, {queue_type}"


def _limit(queue_type: str) -> str:
    return f"publish only, {queue_type}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    choose_databases(parser)
    parser.add_argument("--no-peers", action="store_true", help="leave the peer out")


if __name__ == "__main__":
    sys.exit(run("relay", "Relay: outbox to broker", measure, add_arguments=add_arguments))
