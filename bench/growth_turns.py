"""Turns of relay and consumer on one database, which keeps what each turn left there."""

from bench import child
from bench.database import Database, fill_outbox
from bench.facts import Fact, make_facts
from bench.figures import Sample
from bench.report import Report
from bench.stage import Stage
from bench.wire import wire

ACTIVE = 2000  # so many materials are published anew, turn after turn


class GrowthTurns:
    """`old` is the highest revision that the active materials may have before."""

    def __init__(self, stage: Stage, report: Report, url: str, *, old: int) -> None:
        self.consumed: list[Sample] = []
        self._stage, self._report, self._url = stage, report, url
        self._made = old * ACTIVE

    def play(self, count: int) -> Sample:
        """The relay's sample; the catalog's consumer takes what it sent, for `consumed`."""
        facts = make_facts(count, materials=ACTIVE, first=self._made)
        self._made += -(-count // ACTIVE) * ACTIVE
        environment = self._stage.environment(self._url)
        database = Database(self._url)
        last = database.value("SELECT MAX(id) FROM messaging_inboxreceipt")
        fill_outbox(database, facts)
        with wire(environment) as line:
            relay = child.Part("relay_outbox", environment, {"count": count})
            relayed = child.play(self._stage, relay)
            worker = child.Part("consume", environment, {"consumer": "catalog"})
            self.consumed.append(child.play(self._stage, worker, count=count))
            left = line.ready(line.topology.main("catalog"))
        self._account(database, facts, last, left)
        database.close()
        return relayed

    def _account(self, database: Database, facts: list[Fact], last: int, left: int) -> None:
        unsent = database.value(
            "SELECT COUNT(*) FROM messaging_outboxmessage WHERE state = 'pending'"
        )
        applied = database.rows(
            "SELECT event_id FROM messaging_inboxreceipt WHERE id > %s AND outcome = 'applied'",
            last,
        )
        self._report.account("rows not sent", found=unsent, expected=0)
        self._report.account("messages left in the queue", found=left, expected=0)
        self._report.account(
            "receipts are those of the turn's facts, each once",
            found=sorted(str(event_id) for (event_id,) in applied),
            expected=sorted(fact.event_id for fact in facts),
            told="yes",
        )
