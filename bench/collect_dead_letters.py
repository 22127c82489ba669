"""How fast, and in how much memory, dead letters are collected.

    .venv/bin/python -m bench.collect_dead_letters [--letters 50000] [--bytes 10000] [--large 30]

Starts a RabbitMQ node of its own; the database is DATABASE_URL (it is migrated and written to),
or an SQLite file of its own. `--large` letters of 10 MB follow in a second run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pika

from dev.rabbitmq import RabbitNode

PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--letters", type=int, default=50_000)
    parser.add_argument("--bytes", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="catalogsite-bench-") as folder:
        node = RabbitNode(Path(folder) / "broker")
        node.start()
        try:
            environment = os.environ | {
                "AMQP_URL": node.amqp_url,
                "DELIVERY_NAMESPACE": f"bench-{uuid.uuid4().hex[:8]}",
                "DATABASE_URL": os.environ.get("DATABASE_URL", f"sqlite:///{folder}/b.sqlite3"),
                "SECRET_KEY": "for a measurement alone",
                "LOG_LEVEL": "WARNING",
            }
            manage(environment, "migrate", "--verbosity=0")
            manage(environment, "declare_topology")
            manage_measured(environment, "nothing to collect")
            bury(environment, count=options.letters, size=options.bytes)
            manage_measured(environment, f"{options.letters} letters of {options.bytes} bytes")
            bury(environment, count=options.large, size=10_000_000)
            manage_measured(environment, f"{options.large} letters of 10 MB")
        finally:
            node.stop()


def bury(environment: dict[str, str], *, count: int, size: int) -> None:
    """Dead letters as a consumer leaves them, half of them events."""
    connection = pika.BlockingConnection(pika.URLParameters(environment["AMQP_URL"]))
    channel = connection.channel()
    queue = f"{environment['DELIVERY_NAMESPACE']}.catalog.dead"
    for number in range(count):
        event_id = str(uuid.uuid4())
        facts = f'"eventId": "{event_id}", "materialId": "article-{number}", "revision": 1'
        head = f'{{{facts}, "data": "'
        channel.basic_publish(
            "",
            queue,
            head.encode() + b"x" * (size - len(head) - 2) + b'"}',
            pika.BasicProperties(
                delivery_mode=2,
                message_id=event_id,
                timestamp=int(time.time()),
                headers={"attempt": 0, "reason": "MalformedEvent", "consumer": "catalog"},
            ),
        )
    connection.close()


def manage(environment: dict[str, str], *command: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *command], cwd=PROJECT, env=environment, check=True
    )


def manage_measured(environment: dict[str, str], what: str) -> None:
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "collect_dead_letters", "--once"],
        cwd=PROJECT,
        env=environment,
    )
    _pid, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    code = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss / 1024
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{what}: {seconds:.1f} s, {cpu:.1f} s of CPU, peak {peak:.0f} MB, exit {code}")


if __name__ == "__main__":
    main()
