"""The peer of the relay: django-outbox-pattern, its own table and its own `publish` command.

Its broker speaks STOMP, so it has a node of its own. It asks for no receipt of what it sends.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import process_tree
from bench.database import Database
from bench.facts import Fact, write_facts
from bench.figures import Sample
from bench.house import await_that
from bench.peer_environments import PEERS, NotInstalled, python_of
from bench.report import Report
from bench.stage import Stage, say
from bench.stomp_node import StompNode
from bench.turns import Contestant
from bench.wire import wire
from dev.rabbitmq import NodeFailed

NAME = "django-outbox-pattern, PostgreSQL"
LACKS = (
    "lacks: any confirm (what the broker drops is lost), order, a short transaction:"
    " one holds the whole backlog"
)
LIMIT_SECONDS = 120
_SUCCEEDED = "SELECT COUNT(*) FROM published WHERE status = 2"


def peer_contestants(
    stage: Stage, report: Report, facts: Sequence[Fact], queue_types: Sequence[str]
) -> list[Contestant]:
    """One for each queue type, or none where it cannot be installed; the report then says so."""
    try:
        python = python_of("outbox_pattern")
        node = StompNode(stage.folder / "stomp-broker")
        node.start()
    except (NotInstalled, NodeFailed) as error:
        say(f"not measured: {error}")
        report.add_table("Peers that could not be measured", ["peer", "why"], [[NAME, str(error)]])
        return []
    file = write_facts(facts, stage.folder / "peer-facts.jsonl")
    return [
        Contestant(
            name_on(queue_type), _turn(stage, report, node, python, facts, file, queue_type), LACKS
        )
        for queue_type in queue_types
    ]


def name_on(queue_type: str) -> str:
    """Of the contestant whose messages go to queues of that type."""
    return f"{NAME}, {queue_type}"


def _turn(
    stage: Stage,
    report: Report,
    node: StompNode,
    python: Path,
    facts: Sequence[Fact],
    file: Path,
    queue_type: str,
) -> Callable[[], Sample]:
    folder = PEERS / "outbox_pattern"

    def call(environment: dict[str, str], *words: str) -> None:
        process = stage.start(
            [str(python), "app.py", *words], environment, name="outbox_pattern", cwd=folder
        )
        if process.wait():
            log = stage.log_of("outbox_pattern").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{words[0]} of {NAME} failed:\n{log[-3000:]}")

    def turn() -> Sample:
        with stage.database("PostgreSQL") as url:
            environment = stage.environment(
                url,
                AMQP_URL=node.amqp_url,
                STOMP_PORT=str(node.stomp_port),
                PYTHONPATH=str(PEERS),
                DELIVERY_QUEUE_TYPE=queue_type,
            )
            call(environment, "migrate", "--verbosity=0")
            call(environment, "fill", str(file))
            with wire(environment) as line:
                queue = line.topology.main("catalog")
                process = stage.start(
                    [str(python), "app.py", "publish"],
                    environment,
                    name="outbox_pattern",
                    cwd=folder,
                )
                try:
                    await_that(lambda: line.ready(queue) > 0, LIMIT_SECONDS)
                    cpu_before, began = process_tree.cpu_seconds(process.pid), time.monotonic()
                    first = line.ready(queue)
                    await_that(lambda: line.ready(queue) >= len(facts), LIMIT_SECONDS)
                    seconds = time.monotonic() - began
                    cpu = process_tree.cpu_seconds(process.pid) - cpu_before
                    peak = process_tree.peak_mb(process.pid)
                    database = Database(url)
                    await_that(
                        lambda: database.value(_SUCCEEDED) == len(facts), LIMIT_SECONDS
                    )  # its one transaction
                    database.close()
                finally:
                    process.terminate()
                    process.wait()
                arrived = [json.loads(body)["eventId"] for _, body in line.take_all(queue)]
                report.account(
                    "events that django-outbox-pattern sent, each once",
                    found=sorted(arrived),
                    expected=sorted(fact.event_id for fact in facts),
                    told=str(len(facts)),
                )
            return Sample(len(facts) - first, seconds, cpu, peak)

    return turn
