"""A broker node and a PostgreSQL cluster that stay up between test runs.

`python -m dev.kept_services` keeps both until it is stopped; every `pytest` of this checkout
then uses the node instead of starting one, which saves its boot. Namespaces and databases are
per test and per run, so several runs may share them. Not used in CI.
"""

import json
import os
import signal
import tempfile
from pathlib import Path

from dev import guardian, processes
from dev.postgres import PostgresCluster
from dev.rabbitmq import RabbitNode

_PROJECT = Path(__file__).resolve().parent.parent
_POINTER = _PROJECT / "var" / "test-services.json"


def kept_folder() -> Path | None:
    """Where the services of this checkout live, while they are kept up."""
    if os.environ.get("CI"):
        return None
    try:
        pointer = json.loads(_POINTER.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    keeper = processes.Known(pid=pointer["pid"], started=pointer["started"])
    return Path(pointer["folder"]) if keeper.is_alive() else None


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="catalogsite-services-"))
    folder.chmod(0o711)
    guard = guardian.watch_over(folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        broker = RabbitNode(folder / "broker")
        broker.start()
        postgres = PostgresCluster(folder / "postgres")
        postgres.start()
        keeper = processes.know(os.getpid())
        _POINTER.parent.mkdir(exist_ok=True)
        _POINTER.write_text(
            json.dumps({"pid": keeper.pid, "started": keeper.started, "folder": str(folder)}),
            encoding="utf-8",
        )
        print(f"broker     {broker.amqp_url}")
        print(f"PostgreSQL {postgres.url()}")
        print(
            "Tests of this checkout use the broker. For PostgreSQL: DATABASE_URL=… pytest",
            flush=True,
        )
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        _POINTER.unlink(missing_ok=True)
        guard.release()


if __name__ == "__main__":
    main()
