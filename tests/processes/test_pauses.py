"""A pause holds every process of its target within two seconds, and nothing is lost by it."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from messaging import registry
from messaging.broker.session import Session
from messaging.models import InboxReceipt, OperatorDecision, OutboxMessage, Pause
from messaging.operating import pauses
from messaging.operating.decision_log import Operator
from messaging.operating.status import read_status
from tests.eventually import eventually, never
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import record, relay_once, relaying
from tests.processes.working import consume_once, working

OLGA = Operator("olga", None, "192.0.2.1")
OBEYED_SECONDS = 2.0


def pause(target: str, **options: Any) -> None:
    pauses.pause(target, operator=OLGA, reason="the store is being moved", **options)


def test_every_process_of_a_paused_consumer_leaves_and_comes_back(run: Run, queues: Queues) -> None:
    with working("catalog"), working("catalog"), working("audit"):
        eventually(lambda: queues.subscribers("catalog") == 2)

        pause("catalog")
        eventually(lambda: queues.subscribers("catalog") == 0, OBEYED_SECONDS)
        queues.publish(published())
        eventually(lambda: InboxReceipt.objects.filter(consumer="audit").exists())
        assert queues.ready("catalog") == {"main": 1}

        assert pauses.resume("catalog", operator=OLGA)
        eventually(lambda: InboxReceipt.objects.filter(consumer="catalog").exists(), 5)

    actions = OperatorDecision.objects.order_by("pk").values_list("action", "operator", "detail")
    assert [(action, who, detail["target"]) for action, who, detail in actions] == [
        ("pause", "olga", "catalog"),
        ("resume", "olga", "catalog"),
    ]


def test_what_a_paused_consumer_held_lies_ready_again(run: Run, queues: Queues) -> None:
    held = 400

    def slow(events: Any, using: str) -> set[str]:
        time.sleep(0.2)
        return set()

    queues.publish(*(published(f"article-{number}") for number in range(held)))
    with working("catalog", apply=slow, prefetch=2):
        eventually(lambda: InboxReceipt.objects.exists())
        pause("catalog")
        eventually(lambda: queues.subscribers("catalog") == 0, OBEYED_SECONDS)

        handled = InboxReceipt.objects.count()
        assert handled < held
        assert queues.ready("catalog") == {"main": held - handled}


def test_a_pause_with_an_end_ends_by_itself(run: Run, queues: Queues) -> None:
    queues.publish(published())
    pause("catalog", until=timezone.now() + timedelta(seconds=2))

    with working("catalog"):
        never(lambda: InboxReceipt.objects.exists(), 1)
        eventually(lambda: InboxReceipt.objects.exists(), 6)


def test_a_pause_that_is_over_before_the_session_is_closed_ends_no_consumer(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Session.close

    def close_once_resumed(session: Session) -> None:
        pauses.resume("catalog", operator=OLGA)
        close(session)

    monkeypatch.setattr(pauses, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(Session, "close", close_once_resumed)
    with working("catalog"):
        eventually(lambda: queues.subscribers("catalog") == 1)
        pause("catalog")
        eventually(lambda: not Pause.objects.exists(), what="the end of the pause")

        queues.publish(published())

        eventually(lambda: InboxReceipt.objects.exists(), what="its return")


def test_once_does_nothing_for_a_paused_consumer_and_says_so(run: Run, queues: Queues) -> None:
    queues.publish(published())
    pause("catalog")

    done = run.manage("consume", "catalog", "--once")

    assert done.returncode == 1
    assert "paused" in done.stderr
    assert "Traceback" not in done.stderr
    assert queues.ready("catalog") == {"main": 1}
    assert consume_once("audit") == 0


def test_a_paused_consumer_stops_in_good_order(run: Run, queues: Queues) -> None:
    pause("catalog")
    command = run("consume", "catalog")
    command.wait_for("paused")
    begun = time.monotonic()

    command.terminate()

    assert command.wait() == 0
    assert time.monotonic() - begun < 5


def test_a_paused_relay_sends_nothing_and_what_waits_goes_when_it_is_resumed(
    run: Run, queues: Queues
) -> None:
    with relaying():
        record(published())
        eventually(lambda: not OutboxMessage.objects.pending().exists())
        pause(registry.RELAY)
        time_to_obey = time.monotonic() + OBEYED_SECONDS
        eventually(lambda: time.monotonic() > time_to_obey, OBEYED_SECONDS + 1)

        record(published("article-108"))
        never(lambda: queues.ready("catalog") != {"main": 1}, 1.5)
        pauses.resume(registry.RELAY, operator=OLGA)

        eventually(lambda: queues.ready("catalog") == {"main": 2}, OBEYED_SECONDS + 1)


def test_once_sends_nothing_for_a_paused_relay(run: Run, queues: Queues) -> None:
    record(published())
    pause(registry.RELAY)

    assert relay_once() == 1
    assert queues.ready("catalog") == {}

    done = run.manage("relay_outbox", "--once")
    assert done.returncode == 1
    assert "paused" in done.stderr


def test_the_status_names_who_paused_what_and_why(run: Run, queues: Queues) -> None:
    pause("catalog")

    problems = read_status().problems

    assert any(
        problem.startswith("catalog: paused by olga") and "the store is being moved" in problem
        for problem in problems
    )
    main = queues.topology.main("catalog")
    assert f"queue {main}: no consumer" not in problems


def test_pausing_again_replaces_the_reason(run: Run) -> None:
    pause("catalog")
    pauses.pause("catalog", operator=Operator("otto"), reason="another")

    assert Pause.objects.values_list("operator", "reason").get() == ("otto", "another")
    assert pauses.resume("catalog", operator=OLGA)
    assert not pauses.resume("catalog", operator=OLGA)
