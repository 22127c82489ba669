"""The delivery as it runs in life: `relay_outbox` and both consumers, as commands."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from subprocess import Popen

from bench import process_tree
from bench.database import Database
from bench.facts import Fact
from bench.stage import PROJECT, Kind, Stage
from bench.wire import CONSUMERS, Wire, wire

START_SECONDS, STOP_SECONDS = 60, 30


@dataclass
class House:
    """Its processes run until the block of `running` ends."""

    kind: Kind
    environment: dict[str, str]
    database: Database
    line: Wire
    processes: dict[str, "Popen[str]"]

    def cpu_seconds(self) -> float:
        """Of relay and consumers together, so far."""
        return sum(process_tree.cpu_seconds(each.pid) for each in self.processes.values())

    def last_receipt(self) -> int:
        """The highest id so far."""
        return int(self.database.value("SELECT COALESCE(MAX(id), 0) FROM messaging_inboxreceipt"))

    def await_handled(self, count: int, *, after: int, seconds: float = 120) -> None:
        """Until each consumer has so many receipts with a higher id."""
        sql = "SELECT COUNT(*) FROM messaging_inboxreceipt WHERE consumer = %s AND id > %s"
        for consumer in CONSUMERS:
            look = partial(self.database.value, sql, consumer, after)
            await_that(partial(_has_reached, look, count), seconds)

    def sent_facts(self) -> list[Fact]:
        """Every fact of the outbox."""
        columns = "event_id, type, material_id, revision, body"
        rows = self.database.rows(f"SELECT {columns} FROM messaging_outboxmessage ORDER BY id")
        return [Fact(str(row[0]), row[1], row[2], row[3], bytes(row[4])) for row in rows]


@contextmanager
def running(
    stage: Stage,
    kind: Kind,
    environment: dict[str, str],
    *,
    commands: tuple[str, ...] = ("relay", *CONSUMERS),
) -> Iterator[House]:
    """All of it is up when the block begins, and stopped in good order at its end."""
    with wire(environment) as line:
        house = House(kind, environment, Database(environment["DATABASE_URL"]), line, {})
        leaders_before = _leaders(house.database)
        try:
            for name in commands:
                words = ["relay_outbox"] if name == "relay" else ["consume", name]
                command = [sys.executable, str(PROJECT / "manage.py"), *words]
                label = f"{name} {kind} {line.topology.namespace}"
                house.processes[name] = stage.start(command, environment, name=label)
            await_that(lambda: _is_up(house, before=leaders_before), START_SECONDS)
            yield house
            for name, process in house.processes.items():
                process.terminate()
                if process.wait(STOP_SECONDS):
                    raise RuntimeError(f"{name} ended with {process.returncode}")
        finally:
            for process in house.processes.values():
                process.kill()
                process.wait()
            house.database.close()


def await_that(condition: Callable[[], object], seconds: float) -> None:
    """Look every 20 ms. Raises TimeoutError."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds:.0f} s")
        time.sleep(0.02)


def _has_reached(look: Callable[[], int], count: int) -> bool:
    return look() >= count


def _is_up(house: House, *, before: set[str]) -> bool:
    for name, process in house.processes.items():
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}")
        if name == "relay":
            if _leaders(house.database) <= before:
                return False
        elif not house.line.consumers(house.line.topology.main(name)):
            return False
    return True


def _leaders(database: Database) -> set[str]:
    """Who holds a lease, or held it last."""
    return {owner for (owner,) in database.rows("SELECT owner FROM messaging_relaylease") if owner}
