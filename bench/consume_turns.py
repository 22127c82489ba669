"""The turns of consumers: a fresh database and a full queue before, an account after each."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench import child
from bench.child import Part
from bench.database import Database, fill_outbox
from bench.effects import settle_consumer
from bench.facts import Fact, make_facts
from bench.figures import Sample
from bench.pipelined import publish
from bench.report import Report
from bench.runner import Options
from bench.stage import Kind, Stage
from bench.wire import Wire, wire

ONE_IN = 100


class ConsumeTurns:
    """Product and references get the same events."""

    def __init__(self, stage: Stage, report: Report, options: Options) -> None:
        self._stage, self._report = stage, report
        self._many = make_facts(options.size(12_000, quick=600))
        self.few = self._many[: options.size(250, quick=50)]

    def product(self, kind: Kind, consumer: str, *, processes: int = 1) -> Sample:
        return self._turn(kind, consumer, self._many, ["consume"] * processes)

    def raw(self, kind: Kind, consumer: str) -> Sample:
        return self._turn(kind, consumer, self._many, ["raw_worker"])

    def naive(self, kind: Kind, consumer: str) -> Sample:
        return self._turn(kind, consumer, self.few, ["naive_worker"])

    def unreadable(self) -> Sample:
        """Some messages are cut off."""
        facts = [
            replace(fact, body=fact.body[:-9]) if number % ONE_IN == 0 else fact
            for number, fact in enumerate(self._many)
        ]
        spoiled = facts[::ONE_IN]
        return self._turn("PostgreSQL", "catalog", facts, ["consume"], spoiled=spoiled)

    def refused(self) -> Sample:
        """The handler raises over some messages, inside the transaction."""
        failing = {fact.material_id for fact in self._many[::ONE_IN]}
        spoiled = [fact for fact in self._many if fact.material_id in failing]
        return self._turn(
            "PostgreSQL", "catalog", self._many, ["consume"], spoiled=spoiled, failing=failing
        )

    def product_pair(self) -> Sample:
        """Relay and consumer at once, from a full outbox to a full catalog."""
        return self._pair(self._many, "relay_outbox", "consume")

    def naive_pair(self) -> Sample:
        return self._pair(self.few, "naive_relay", "naive_worker")

    def _turn(
        self,
        kind: Kind,
        consumer: str,
        facts: Sequence[Fact],
        modules: Sequence[str],
        *,
        spoiled: Sequence[Fact] = (),
        failing: Iterable[str] = (),
    ) -> Sample:
        """`spoiled` have to end in the dead queue and change nothing; `failing` are materials."""
        with self._stage.database(kind) as url:
            environment = self._stage.environment(url)
            with wire(environment) as line:
                queue = line.topology.main(consumer)
                publish(environment["AMQP_URL"], facts, exchange="", routing_key=queue)
                parts = [
                    Part(module, environment, _options(module, consumer, line, facts, failing))
                    for module in modules
                ]
                sample = child.play(self._stage, *parts, count=len(facts))
                self._report.account(
                    f"messages left in the queue of {consumer}", found=line.ready(queue), expected=0
                )
                self._settle_dead(line, consumer, spoiled)
            self._settle(url, consumer, facts, spoiled)
            return sample

    def _pair(self, facts: Sequence[Fact], relay: str, worker: str) -> Sample:
        with self._stage.database("PostgreSQL") as url:
            environment = self._stage.environment(url)
            database = Database(url)
            fill_outbox(database, facts)
            database.close()
            with wire(environment) as line:
                from_outbox: dict[str, object] = (
                    {"count": len(facts)}
                    if relay == "relay_outbox"
                    else {"exchange": line.topology.events}
                )
                to_catalog = _options(worker, "catalog", line, facts, ()) | {"until": len(facts)}
                parts = [
                    Part(relay, environment, from_outbox),
                    Part(worker, environment, to_catalog),
                ]
                sample = child.play(self._stage, *parts, count=len(facts))
            self._settle(url, "catalog", facts, ())
            return sample

    def _settle(
        self, url: str, consumer: str, facts: Sequence[Fact], spoiled: Sequence[Fact]
    ) -> None:
        bad = {fact.event_id for fact in spoiled}
        database = Database(url)
        good = [fact for fact in facts if fact.event_id not in bad]
        settle_consumer(self._report, database, consumer, good)
        database.close()

    def _settle_dead(self, line: Wire, consumer: str, spoiled: Sequence[Fact]) -> None:
        dead = line.take_all(line.topology.dead(consumer))
        wanted = sorted(fact.body for fact in spoiled)
        self._report.account(
            "runs after which the dead queue holds what was spoiled, byte for byte, and no more",
            found="each" if sorted(body for _, body in dead) == wanted else "not this one",
            expected="each",
        )


def _options(
    module: str, consumer: str, line: Wire, facts: Sequence[Fact], failing: Iterable[str]
) -> dict[str, object]:
    if module == "consume":
        return {"consumer": consumer, "failing": sorted(failing)}
    return {"consumer": consumer, "queue": line.topology.main(consumer), "until": len(facts)}
