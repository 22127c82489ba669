"""Headers that nearly fill a frame of the broker: what fails is handed over all the same."""

from collections.abc import Iterator

import pytest

from dev.rabbitmq import RabbitNode
from materials.catalog.models import CatalogEntry
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.working import consume_once

pytestmark = pytest.mark.any_database

FRAME_BYTES = 8192


@pytest.fixture
def small_frames(own_broker: RabbitNode) -> Iterator[None]:
    """Whoever connects from now on gets frames of that size."""
    own_broker.ctl("eval", f"application:set_env(rabbit, frame_max, {FRAME_BYTES}).")
    yield
    own_broker.ctl("eval", "application:set_env(rabbit, frame_max, 131072).")


def test_what_headers_leave_no_room_for_in_a_copy_is_left_behind_and_the_queue_goes_on(
    own_broker: RabbitNode, small_frames: None, run: Run, queues: Queues
) -> None:
    filling = {"x": "y" * (FRAME_BYTES - 92), "short": "kept"}
    queues.give("catalog", b"not an event", headers=filling)
    queues.give("catalog", b"nor this", headers={"attempt": "a" * (FRAME_BYTES - 92)})
    queues.give("catalog", b"nor that", headers={"x": "y" * (FRAME_BYTES // 2), "attempt": "two"})
    queues.give("catalog", published("behind").body)

    assert consume_once("catalog", prefetch=1) == 0

    assert CatalogEntry.objects.get().material_id == "behind"
    first, second, third = queues.dead("catalog")
    assert [first.body, second.body, third.body] == [b"not an event", b"nor this", b"nor that"]
    own = {"reason": "MalformedEvent", "consumer": "catalog"}
    assert first.headers == own | {"short": "kept", "attempt": 0}
    assert second.headers == own | {"reason": "InvalidAttempt"}
    assert third.headers == own | {
        "reason": "InvalidAttempt",
        "x": "y" * (FRAME_BYTES // 2),
        "attempt": "two",
    }
