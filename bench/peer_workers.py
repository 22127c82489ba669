"""The peers' workers, each handling the same events with the same handler, one a transaction.

What a peer is told is one message a call: that is its interface. The handler is the naive
loop's, receipts included, so that the effect is once here too; without it the peer has none.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import process_tree
from bench.database import Database
from bench.effects import settle_consumer
from bench.facts import Fact, write_facts
from bench.figures import Sample
from bench.peer_environments import PEERS, NotInstalled, python_of
from bench.report import Report
from bench.stage import Stage, say
from bench.turns import Contestant
from bench.wire import wire

LIMIT_SECONDS = 120


@dataclass(frozen=True)
class Peer:
    """One way to run one peer; `missing` is what the product guarantees and it does not."""

    name: str
    folder: str
    command: tuple[str, ...]
    missing: str
    settings: dict[str, str] = field(default_factory=dict)


_CELERY = ("-m", "celery", "-A", "app", "worker", "-c", "1", "-l", "warning", "--without-gossip")
_CELERY_LACKS = (
    "a task that raises is acked and gone; its own envelope; no receipts (here the handler's)"
)
PEERS_AT_WORK = (
    Peer("Celery, acks_late", "celery_tasks", _CELERY, _CELERY_LACKS),
    Peer(
        "Celery, acks_late, CELERY_DB_REUSE_MAX, prefetch 100",
        "celery_tasks",
        _CELERY,
        _CELERY_LACKS,
        {"DB_REUSE": "1", "PREFETCH": "100"},
    ),
    Peer(
        "Dramatiq, 1 process of 8 threads",
        "dramatiq_actors",
        ("-m", "dramatiq", "app", "-p", "1", "-t", "8"),
        "order is lost; after its retries a message expires from the dead queue; no receipts",
    ),
    Peer(
        "FastStream, prefetch 100",
        "faststream_subscriber",
        ("app.py", "run"),
        "a message that fails is requeued without delay or limit; no receipts",
    ),
    Peer(
        "kombu ConsumerMixin, prefetch 100",
        "kombu_consumer",
        ("app.py", "run"),
        "no retries, no dead queue, no receipts: all of it is left to the handler",
    ),
)


def peer_contestants(stage: Stage, report: Report, facts: list[Fact]) -> list[Contestant]:
    """Those that can be installed; what cannot is told in the report."""
    file = write_facts(facts, stage.folder / "peer-facts.jsonl")
    contestants, absent = [], []
    for peer in PEERS_AT_WORK:
        try:
            python = python_of(peer.folder)
        except NotInstalled as error:
            say(f"not measured: {error}")
            absent.append([peer.name, str(error)])
            continue
        turn = _turn(stage, report, peer, python, facts, file)
        contestants.append(Contestant(peer.name, turn, f"lacks: {peer.missing}"))
    if absent:
        report.add_table("Peers that could not be installed", ["peer", "why"], absent)
    return contestants


def _turn(
    stage: Stage, report: Report, peer: Peer, python: Path, facts: list[Fact], file: Path
) -> Callable[[], Sample]:
    def turn() -> Sample:
        with stage.database("PostgreSQL") as url:
            environment = stage.environment(url, PYTHONPATH=str(PEERS), **peer.settings)
            folder = PEERS / peer.folder
            with wire(environment) as line:
                queue = f"{line.topology.namespace}.peer"
                environment |= {"PEER_QUEUE": queue}
                _fill(stage, python, folder, environment, file)
                database = Database(url)
                process = stage.start(
                    [str(python), *peer.command], environment, name=peer.folder, cwd=folder
                )
                try:
                    sample = _watch(database, process.pid, len(facts))
                except TimeoutError:
                    log = stage.log_of(peer.folder).read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"{peer.name} came to no end:\n{log[-3000:]}") from None
                finally:
                    process.terminate()
                    process.wait()
                    line.delete_queues(queue)
                settle_consumer(report, database, "catalog", facts)
                database.close()
                return sample

    return turn


def _fill(
    stage: Stage, python: Path, folder: Path, environment: dict[str, str], file: Path
) -> None:
    process = stage.start(
        [str(python), "app.py", "fill", str(file)],
        environment,
        name=f"fill {folder.name}",
        cwd=folder,
    )
    if process.wait():
        log = stage.log_of(f"fill {folder.name}").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{folder.name} could not be filled:\n{log[-3000:]}")


def _watch(database: Database, pid: int, count: int) -> Sample:
    """From the first receipt to the last, so that no start-up is counted."""
    cpu_before, handled = 0.0, 0
    until = time.monotonic() + LIMIT_SECONDS
    while handled < count:
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)
        handled = database.value("SELECT COUNT(*) FROM messaging_inboxreceipt")
        cpu_before = cpu_before or (process_tree.cpu_seconds(pid) if handled else 0.0)
    cpu, peak = process_tree.cpu_seconds(pid), process_tree.peak_mb(pid)
    seconds = database.value(
        "SELECT EXTRACT(EPOCH FROM MAX(handled_at) - MIN(handled_at)) FROM messaging_inboxreceipt"
    )
    return Sample(count - 1, float(seconds), cpu - cpu_before, peak)
