"""The broker's objects: exactly those of the contract."""

from dataclasses import dataclass, replace

import pytest

from messaging.broker.topology import Binding, Exchange, Queue, Step, Topology

pytestmark = pytest.mark.any_database


@dataclass(frozen=True)
class Listener:
    name: str
    patterns: tuple[str, ...] = ("material.*",)


CLASSIC = Topology(
    namespace="shop",
    queue_type="classic",
    retry_delay_ms=5000,
    subscribers=(Listener("catalog"), Listener("audit", ("material.published", "page.#"))),
)
QUORUM = replace(CLASSIC, queue_type="quorum")


def of_consumer(topology: Topology, name: str) -> list[Step]:
    return [
        step
        for step in topology
        if isinstance(step, Queue | Binding)
        and f"{step.queue if isinstance(step, Binding) else step.name}.".startswith(f"shop.{name}.")
    ]


def test_events_enter_by_a_topic_exchange_and_come_back_by_a_direct_one() -> None:
    assert list(CLASSIC)[:2] == [
        Exchange("shop.events", "topic"),
        Exchange("shop.resume", "direct"),
    ]


def test_a_consumer_has_a_queue_a_retry_queue_and_a_dead_queue() -> None:
    assert of_consumer(CLASSIC, "catalog") == [
        Queue("shop.catalog", {"x-queue-type": "classic"}),
        Queue(
            "shop.catalog.retry",
            {
                "x-queue-type": "classic",
                "x-message-ttl": 5000,
                "x-dead-letter-exchange": "shop.resume",
                "x-dead-letter-routing-key": "catalog",
            },
        ),
        Queue("shop.catalog.dead", {"x-queue-type": "classic"}),
        Binding("shop.catalog", "shop.events", "material.*"),
        Binding("shop.catalog", "shop.resume", "catalog"),
    ]


def test_replicated_queues_lose_nothing_between_retry_and_main_queue() -> None:
    queues = {step.name: step.arguments for step in QUORUM if isinstance(step, Queue)}

    assert queues["shop.catalog.retry"] == {
        "x-queue-type": "quorum",
        "x-message-ttl": 5000,
        "x-dead-letter-exchange": "shop.resume",
        "x-dead-letter-routing-key": "catalog",
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }


def test_no_delivery_limit_of_the_broker_drops_a_message_from_a_replicated_queue() -> None:
    queues = {step.name: step.arguments for step in QUORUM if isinstance(step, Queue)}

    for name in ("shop.catalog", "shop.catalog.dead"):
        assert queues[name] == {"x-queue-type": "quorum", "x-delivery-limit": 2**31 - 1}


def test_each_pattern_of_a_consumer_is_bound() -> None:
    bindings = [step for step in of_consumer(CLASSIC, "audit") if isinstance(step, Binding)]

    assert bindings == [
        Binding("shop.audit", "shop.events", "material.published"),
        Binding("shop.audit", "shop.events", "page.#"),
        Binding("shop.audit", "shop.resume", "audit"),
    ]


@pytest.mark.parametrize("topology", [CLASSIC, QUORUM], ids=["classic", "quorum"])
def test_nothing_is_bound_or_named_before_it_is_declared(topology: Topology) -> None:
    declared: set[str] = set()
    for step in topology:
        match step:
            case Exchange(name):
                declared.add(name)
            case Queue(name, arguments):
                assert arguments.get("x-dead-letter-exchange", "shop.resume") in declared
                declared.add(name)
            case Binding(queue, exchange):
                assert {queue, exchange} <= declared


def test_the_order_does_not_depend_on_the_order_of_registration() -> None:
    turned = replace(CLASSIC, subscribers=tuple(reversed(CLASSIC.subscribers)))

    assert list(turned) == list(CLASSIC)


def test_the_queues_can_be_listed_by_name() -> None:
    assert CLASSIC.queue_names() == [
        "shop.audit",
        "shop.audit.retry",
        "shop.audit.dead",
        "shop.catalog",
        "shop.catalog.retry",
        "shop.catalog.dead",
    ]
