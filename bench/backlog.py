"""A backlog so long that whoever kept it in memory would be seen: of rows, and of messages."""

import json
import time
from collections.abc import Iterator

from bench import process_tree
from bench.facts import Fact
from bench.figures import Sample
from bench.grown import material_of
from bench.house import House
from bench.pipelined import publish

PIECE = 50_000


def make_backlog(count: int, *, materials: int, revision: int) -> Iterator[Fact]:
    """Facts as the product makes them, only quicker: one of each material, then the next ones."""
    text = json.dumps(
        {
            "eventId": "%s",
            "type": "material.published",
            "schemaVersion": 1,
            "occurredAt": "2026-11-01T12:00:00.000000Z",
            "materialId": "%s",
            "revision": 987654321,
            "actor": "editor",
            "data": {
                "title": "A title of usual length",
                "summary": "A sentence that tells readers what they will find.",
                "body": "Some *Markdown* text. " * 14,
            },
        }
    ).replace("987654321", "%d")
    for number in range(count):
        event_id = f"0190{revision:04x}-{number >> 16:04x}-7000-8000-{number:012x}"
        name, its = material_of(number % materials), revision + number // materials
        yield Fact(
            event_id, "material.published", name, its, (text % (event_id, name, its)).encode()
        )


def fill_queue(amqp_url: str, facts: Iterator[Fact], queue: str) -> None:
    """All of them into one queue, in pieces that fit in memory."""
    piece: list[Fact] = []
    for fact in facts:
        piece.append(fact)
        if len(piece) == PIECE:
            publish(amqp_url, piece, exchange="", routing_key=queue)
            piece = []
    if piece:
        publish(amqp_url, piece, exchange="", routing_key=queue)


def watch(house: House, name: str, done_sql: str, *, seconds: float) -> Sample:
    """Let the house's process of that name work for some seconds, then stop it in good order.

    `done_sql` counts what is done so far.
    """
    process = house.processes.pop(name)
    before = house.database.value(done_sql)
    cpu_before, began = process_tree.cpu_seconds(process.pid), time.monotonic()
    time.sleep(seconds)
    cpu, peak = process_tree.cpu_seconds(process.pid), process_tree.peak_mb(process.pid)
    process.terminate()
    if process.wait(30):
        raise RuntimeError(f"{name} ended with {process.returncode}")
    done = house.database.value(done_sql) - before
    return Sample(done, time.monotonic() - began, cpu - cpu_before, peak)
