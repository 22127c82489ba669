"""A message that pika cannot even decode: it spins nothing, hides nothing, and can be got past.

No known message does that since header tables are read by our own codec, so here pika is broken
for one message on purpose.
"""

from collections.abc import Iterator

import pika.spec
import pytest

from messaging.models import DeadLetter, InboxReceipt
from tests.eventually import eventually, never
from tests.messaging.facts import published
from tests.processes.collecting import bury, collecting
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import working

pytestmark = pytest.mark.any_database

POISON = "poison"


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """One entry each time that pika was given the message and gave up."""
    found: list[str] = []
    decode = pika.spec.BasicProperties.decode

    def broken(self: pika.BasicProperties, encoded: bytes, offset: int = 0) -> pika.BasicProperties:
        decode(self, encoded, offset)
        if self.message_id == POISON:
            found.append(POISON)
            raise RecursionError("maximum recursion depth exceeded")
        return self

    with monkeypatch.context() as patch:
        patch.setattr(pika.spec.BasicProperties, "decode", broken)
        yield found


def purge(queues: Queues, queue: str) -> None:
    """Take the one message out; in the moments in which it is delivered it is not to be had."""
    eventually(
        lambda: queues.wire.channel.queue_purge(queue).method.message_count, 40, what="the purge"
    )


def test_a_collector_keeps_its_pace_collects_the_other_queues_and_goes_on_behind_it(
    run: Run, queues: Queues, readings: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    bury(queues, "catalog", b"bad", message_id=POISON)
    bury(queues, "audit", b"good")

    with collecting():
        eventually(lambda: DeadLetter.objects.filter(consumer="audit").exists(), what="the other")
        never(lambda: len(readings) > 12, seconds=3, what="a fast loop")
        purge(queues, queues.topology.dead("catalog"))
        bury(queues, "catalog", b"behind it")
        eventually(
            lambda: DeadLetter.objects.filter(consumer="catalog").exists(), 40, what="the next"
        )

    assert "cannot be read (RecursionError)" in capfd.readouterr().err


def test_a_consumer_keeps_its_pace_and_goes_on_behind_it(
    run: Run, queues: Queues, readings: list[str]
) -> None:
    event = published()
    queues.give("audit", b"bad", message_id=POISON)

    with working("audit"):
        eventually(lambda: readings, what="a try")
        never(lambda: len(readings) > 12, seconds=3, what="a fast loop")
        purge(queues, queues.topology.main("audit"))
        queues.publish(event)
        eventually(lambda: InboxReceipt.objects.exists(), 40, what="the next")
