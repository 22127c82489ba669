"""The bounds of DELIVERY_RETRY_DELAY_MS are the broker's own."""

import pytest
from pika.exceptions import ChannelClosedByBroker

from tests.processes.harness import Run
from tests.wire import Wire

pytestmark = pytest.mark.any_database

LONGEST_MS = 10 * 365 * 24 * 3600 * 1000


@pytest.mark.parametrize("delay_ms", [1, LONGEST_MS])
def test_the_shortest_and_the_longest_delay_can_be_declared(run: Run, delay_ms: int) -> None:
    done = run.manage("declare_topology", DELIVERY_RETRY_DELAY_MS=str(delay_ms))

    assert done.returncode == 0, done.stderr


def test_a_longer_one_is_refused_by_the_broker_as_by_the_settings(
    run: Run, wire: Wire, namespace: str
) -> None:
    refused = run.manage("declare_topology", DELIVERY_RETRY_DELAY_MS=str(LONGEST_MS + 1))
    with pytest.raises(ChannelClosedByBroker, match="x-message-ttl"):
        wire.channel.queue_declare(
            f"{namespace}.catalog.retry",
            durable=True,
            arguments={"x-message-ttl": LONGEST_MS + 1},
        )

    assert refused.returncode == 2
    assert "DELIVERY_RETRY_DELAY_MS must be a whole number from 1 to 315360000000" in refused.stderr


def test_the_longest_namespace_still_makes_names_that_the_broker_takes(run: Run) -> None:
    done = run.manage("declare_topology", DELIVERY_NAMESPACE="n" * 60)
    again = run.manage("declare_topology", "--check", DELIVERY_NAMESPACE="n" * 60)

    assert (done.returncode, again.returncode) == (0, 0), done.stderr + again.stderr
