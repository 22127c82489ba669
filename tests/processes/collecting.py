"""Dead letters made, collected and looked at: the real collector in a thread of the test.

Where signals, kills, exit codes or memory count, tests start the real command instead.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from messaging.broker.sessions import topology
from messaging.envelope import Event
from messaging.letters import dead_letters
from messaging.letters.collector import Collector
from messaging.letters.dead_letters import Answer
from messaging.models import DeadLetter
from messaging.operating.decision_log import Operator
from messaging.running.process import Lifetime
from tests.processes.queues import Queues


def collect_once() -> int:
    """Collect in this thread until the dead queues are empty; the exit code."""
    with Lifetime(catch_signals=False) as lifetime:
        return Collector(topology(), lifetime, using="default", once=True).run()


@contextmanager
def collecting() -> Iterator[None]:
    """Collect in a thread until the block ends; raises what ended the collector before."""
    with Lifetime(catch_signals=False) as lifetime:
        errors: list[BaseException] = []

        def work() -> None:
            try:
                Collector(topology(), lifetime, using="default").run()
            except BaseException as error:  # noqa: BLE001 - raised below, in the test's thread
                errors.append(error)
            finally:
                connections.close_all()

        thread = threading.Thread(target=work, name="collect")
        thread.start()
        try:
            yield
        finally:
            lifetime.stop()
            thread.join(60)
        assert not thread.is_alive(), "the collector did not stop"
        if errors:
            raise errors[0]


def bury(
    queues: Queues,
    consumer: str,
    body: bytes,
    *,
    reason: str | None = "MalformedEvent",
    attempt: Any = 0,
    headers: dict[Any, Any] | None = None,
    died_at: float | None = None,
    **properties: Any,
) -> None:
    """Put a copy into the dead queue, as a consumer does: now, unless another second is given."""
    table: dict[Any, Any] = dict(headers or {})
    if attempt is not None:
        table["attempt"] = attempt
    if reason is not None:
        table |= {"reason": reason, "consumer": consumer}
    queues.send(
        body,
        exchange="",
        routing_key=queues.topology.dead(consumer),
        headers=table,
        timestamp=int(time.time() if died_at is None else died_at),
        **properties,
    )


def bury_event(queues: Queues, consumer: str, event: Event, **changes: Any) -> None:
    """The same for an event whose budget is spent."""
    defaults: dict[str, Any] = {"reason": "SimulatedTransientError", "attempt": 3}
    named = {"message_id": event.event_id, "type": event.type}
    bury(queues, consumer, event.body, **(defaults | named | changes))


def letter_of(event: Event, consumer: str = "catalog") -> DeadLetter:
    """The one letter of that event."""
    return DeadLetter.objects.get(consumer=consumer, event_id=event.event_id)


def a_letter(queues: Queues, consumer: str, event: Event, **changes: Any) -> DeadLetter:
    """That event as an open letter, collected."""
    bury_event(queues, consumer, event, **changes)
    collect_once()
    return letter_of(event, consumer)


def requeue(letter: DeadLetter, *, by: str = "olga", **options: Any) -> Answer:
    return dead_letters.requeue([letter.pk], operator=Operator(by), **options)[0]


def actions(letter: DeadLetter) -> list[str]:
    """The letter's history, oldest first."""
    return list(letter.decisions.order_by("pk").values_list("action", flat=True))
