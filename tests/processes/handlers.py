"""Runs a `consume NAME` command whose handler is slow, or waits, around the real one.

`python -m tests.processes.handlers HANDLER:ARGUMENT consume NAME …`; the product has no hook for
it. Each handler below gets the consumer's own, and gives the one to be used.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import django

import manage
from messaging import registry
from messaging.registry import Apply


def main() -> None:
    spec, *command = sys.argv[1:]
    os.environ["DJANGO_SETTINGS_MODULE"] = "catalogsite.settings"
    django.setup()
    name, _, argument = spec.partition(":")
    consumer = registry.consumer(command[1])
    registry._consumers[consumer.name] = replace(
        consumer, apply=HANDLERS[name](consumer.apply, argument)
    )
    sys.argv = ["manage.py", *command]
    manage.main()


def sleeping(apply: Apply, seconds: str) -> Apply:
    """Says that it began, and sleeps inside the transaction when the effect is written."""

    def slow(events: Sequence[registry.Event], using: str) -> set[str]:
        stale = apply(events, using)
        print(f"at work on {len(events)}", flush=True)
        time.sleep(float(seconds))
        return stale

    return slow


def waiting(apply: Apply, path: str) -> Apply:
    """Says that it began, and waits inside the transaction until the file is there."""

    def slow(events: Sequence[registry.Event], using: str) -> set[str]:
        print(f"at work on {len(events)}", flush=True)
        while not Path(path).exists():
            time.sleep(0.01)
        return apply(events, using)

    return slow


HANDLERS: dict[str, Callable[[Apply, str], Apply]] = {"sleeping": sleeping, "waiting": waiting}

if __name__ == "__main__":
    main()
