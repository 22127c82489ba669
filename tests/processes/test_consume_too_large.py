"""A copy over which the broker closes the channel: it waits alone, and nobody else pays."""

from collections.abc import Iterator

import pytest

from dev.rabbitmq import RabbitNode
from materials.catalog.models import CatalogEntry
from tests.eventually import eventually
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import working

pytestmark = pytest.mark.any_database

LARGE = b"x" * 50_000


@pytest.fixture
def limit(own_broker: RabbitNode) -> Iterator[None]:
    yield
    set_limit(own_broker, 134_217_728)


def set_limit(node: RabbitNode, size: int) -> None:
    """As an upgrade of the broker may do, with messages above it in the queues."""
    node.ctl("eval", f"application:set_env(rabbit, max_message_size, {size}).")


def test_a_copy_beyond_the_broker_s_limit_keeps_nobody_else_from_going_on(
    own_broker: RabbitNode,
    run: Run,
    queues: Queues,
    limit: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("messaging.handling.suspects.PAUSE_SECONDS", 4.0)
    good = [published(f"article-{number}") for number in range(4)]
    queues.give("catalog", good[0].body, b"small 1", good[1].body, LARGE, good[2].body, b"small 2")
    set_limit(own_broker, 10_000)

    with working("catalog"):
        eventually(lambda: CatalogEntry.objects.count() == 3)
        queues.give("catalog", good[3].body, b"small 3")
        eventually(lambda: CatalogEntry.objects.count() == 4)
        eventually(lambda: queues.ready("catalog").get("dead", 0) >= 3)
        set_limit(own_broker, 134_217_728)
        eventually(lambda: LARGE in bodies(queues))
    queues.await_ready("catalog")


def bodies(queues: Queues) -> set[bytes]:
    """Of what lies in the dead queue; it is taken out."""
    taken = {each.body for each in queues.dead("catalog")}
    assert taken <= {LARGE, b"small 1", b"small 2", b"small 3"}
    return taken
