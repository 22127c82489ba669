"""A right to publish that the broker's user lacks: for one kind of fact, or for the exchange."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytest_django import Settings

from dev.rabbitmq import RabbitNode
from messaging.errors import ConfigurationError
from messaging.models import OutboxMessage
from messaging.sending import due_rows, outbox_queue, verdicts
from tests.eventually import eventually
from tests.messaging.facts import published, withdrawn
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import all_sent, record, record_row, relay_once, relaying, states

pytestmark = pytest.mark.any_database

Limit = Callable[..., None]


@pytest.fixture
def limit(broker: RabbitNode, queues: Queues, settings: Settings) -> Iterator[Limit]:
    """The relay works as a user who may write to the exchange of events what is matched."""
    user, events = f"u-{os.urandom(4).hex()}", queues.topology.events
    broker.ctl("add_user", user, "a-password")

    def may(*, write: str = ".*", publish: str = ".*") -> None:
        broker.ctl("set_permissions", user, ".*", write, ".*")
        broker.ctl("set_topic_permissions", user, events, publish, ".*")

    settings.AMQP = replace(settings.AMQP, user=user, password="a-password")
    yield may
    broker.ctl("delete_user", user)


@pytest.fixture
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "PARK_AFTER_TRIES", 3)
    monkeypatch.setattr(outbox_queue, "LONGEST_DELAY_SECONDS", 0.2)
    monkeypatch.setattr(due_rows, "LOOK_AT_TRIED_SECONDS", 0.0)


@pytest.mark.parametrize("first", [0, 2], ids=["in front", "in the middle"])
def test_a_kind_of_fact_that_may_not_be_published_holds_up_no_other(
    run: Run, queues: Queues, limit: Limit, short_delays: None, first: int
) -> None:
    limit(publish=r"^material\.published$")
    facts = [published(f"article-{number}") for number in range(4)]
    good = record(*facts[:first])
    refused = record(withdrawn("article-9"), withdrawn("article-8"))
    good += record(*facts[first:])

    with relaying():
        eventually(lambda: all_sent(good))
        eventually(lambda: states(refused) == ["failed"] * 2)
        more = record(published("later"))
        eventually(lambda: all_sent(more))
    assert relay_once() == 0, "nothing is due any more"

    row = OutboxMessage.objects.get(pk=refused[0].pk)
    assert row.attempts == 3
    assert "403 ACCESS_REFUSED - access to topic 'material.withdrawn'" in row.last_error
    copies = Counter(each.body for each in queues.wire.drain(queues.topology.main("audit")))
    assert copies.keys() == {bytes(row.body) for row in good + more}
    assert max(copies.values()) <= 2


def test_an_exchange_that_may_not_be_written_to_ends_the_relay_and_no_row_pays(
    run: Run, queues: Queues, limit: Limit
) -> None:
    limit(write=f"^(?!{re.escape(queues.topology.events)}$)")
    redrive = record_row(consumer="audit")
    rows = record(published("a"), published("b"))

    for _ in range(2):
        with pytest.raises(ConfigurationError, match=f"exchange '{queues.topology.events}'"):
            relay_once()

    assert states([redrive, *rows]) == ["sent", "pending", "pending"]
    assert set(OutboxMessage.objects.values_list("attempts", flat=True)) == {0}
    assert len(queues.wire.drain(queues.topology.main("audit"))) <= 2


def test_redrives_that_may_not_be_published_hold_up_no_fact(
    run: Run, queues: Queues, limit: Limit, short_delays: None
) -> None:
    limit(write=f"^(?!{re.escape(queues.topology.resume)}$)")
    redrives = [record_row(consumer="audit") for _ in range(2)]
    rows = record(published("a"), published("b"))

    with relaying():
        eventually(lambda: all_sent(rows))
        eventually(lambda: states(redrives) == ["failed"] * 2)

    row = OutboxMessage.objects.get(pk=redrives[0].pk)
    assert row.last_error.startswith("forbidden: the broker said 403 ACCESS_REFUSED")
