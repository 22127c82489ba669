"""An editor's clicks at an even pace: `materials.actions.publish`, one transaction each.

The moments of each click are written to a file: when it was called and when it had committed.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import django

from bench.timed import Done


def prepare(
    *, count: int, prefix: str, a_second: float | None = None, moments: str | None = None
) -> Callable[[], Done]:
    """The drafts are made here. Without `a_second` the clicks follow each other at once.

    With `moments` one more is published before the clock starts: the first click of a process
    pays for much that no later one does.
    """
    django.setup()
    from materials import actions

    body = "Some *Markdown* text. " * 14
    names = [f"{prefix}-{number}" for number in range(count + (moments is not None))]
    for name in names:
        actions.create(
            name,
            title="A title of usual length",
            summary="A sentence that tells readers what they will find.",
            body=body,
            actor="editor",
        )

    if moments is not None:
        actions.publish(names.pop(), actor="editor")

    def work() -> Done:
        began = time.monotonic()
        clicks: dict[str, tuple[float, float]] = {}
        for number, name in enumerate(names):
            if a_second is not None:
                time.sleep(max(0.0, began + number / a_second - time.monotonic()))
            called = time.time()
            revision = actions.publish(name, actor="editor")
            clicks[str(revision.event_id)] = (called, time.time())
        if moments is not None:
            Path(moments).write_text(json.dumps(clicks), encoding="ascii")
        return Done(count)

    return work
