"""SIGKILL between each two steps of collecting, requeueing, relaying and resolving a letter.

Whatever dies where: the letter is never lost, there is one record of it, and one effect.
"""

from http.client import RemoteDisconnected
from pathlib import Path
from typing import Literal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from materials.audit.models import AuditRecord
from messaging.models import DeadLetter, Death, OperatorDecision, RelayLease
from tests.catalogsite.server import serving
from tests.messaging.console_pages import LIST
from tests.messaging.facts import published
from tests.processes.collecting import (
    a_letter,
    actions,
    bury,
    bury_event,
    collect_once,
    letter_of,
    requeue,
)
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import relay_once
from tests.processes.working import consume_once

WRITE = "messaging.letters.intake:_Intake.write"
TAKE_IN = "messaging.letters.intake:take_in"
ACK = "messaging.broker.session:Session.ack"
SEND = "messaging.letters.redrives:send"
LOG = "messaging.letters.at_hand:AtHand.log"
REQUEUE = "messaging.letters.dead_letters:requeue"
SETTLE = "messaging.broker.session:Session.settle"
MARK = "messaging.sending.outbox_queue:mark_sent"
RESOLVE = "messaging.letters.resolution:_resolve"

Step = tuple[str, Literal["before", "after"]]


def test_a_collector_that_dies_between_two_steps_loses_and_doubles_nothing(
    run: Run, queues: Queues
) -> None:
    steps: list[Step] = [(WRITE, "after"), (TAKE_IN, "after"), (ACK, "after")]
    for number, step in enumerate(steps):
        event = published(f"article-{number}")
        bury_event(queues, "catalog", event)
        bury(queues, "catalog", b"not an event %d" % number)

        die(run, step, "collect_dead_letters")

        kept = DeadLetter.objects.count() - 2 * number
        # The two may have come in one transaction or in two.
        assert bool(kept) is (step != steps[0]), step
        assert collect_once() == 0
        assert queues.ready("catalog") == {}
        assert DeadLetter.objects.count() == Death.objects.count() == 2 * (number + 1), step
        letter = letter_of(event)
        assert (letter.state, letter.copies, letter.deaths) == ("open", 1, 1), step
    assert OperatorDecision.objects.count() == 0


def test_a_requeue_that_dies_between_two_steps_happens_whole_or_not_at_all(
    run: Run, queues: Queues
) -> None:
    steps: list[Step] = [(SEND, "after"), (LOG, "after"), (REQUEUE, "after")]
    for number, step in enumerate(steps):
        committed = step == (REQUEUE, "after")
        letter = a_letter(queues, "audit", published(f"article-{number}"))

        die(run, step, "dead_letters", "requeue", str(letter.pk))

        letter.refresh_from_db()
        assert letter.state == ("requeued" if committed else "open"), step
        assert letter.redrives.count() == letter.decisions.count() == int(committed), step
        assert requeue(letter).done is not committed
        assert letter.redrives.count() == 1
        assert relay_once() == 0
        await_the_one_effect(letter)


@pytest.mark.parametrize("step", [(LOG, "after"), (REQUEUE, "after")], ids=lambda step: step[0])
def test_a_web_worker_that_dies_in_a_click_on_requeue_does_it_whole_or_not_at_all(
    run: Run, queues: Queues, settings: Settings, tmp_path: Path, step: Step
) -> None:
    committed = step == (REQUEUE, "after")
    letter = a_letter(queues, "audit", published())
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    token = "t" * 32
    cookies = f"sessionid={client.cookies['sessionid'].value}; csrftoken={token}"
    dying = ("-m", "tests.processes.killed_at", *step, "1", "gunicorn", "catalogsite.wsgi")
    variables = run.environment | {"SECRET_KEY": settings.SECRET_KEY}

    with serving(tmp_path, program=dying, **variables) as server:
        click = f"{LIST}requeue/?ids={letter.pk}&from=letter"
        with pytest.raises((RemoteDisconnected, ConnectionError)):
            server.request("POST", click, Cookie=cookies, **{"X-CSRFToken": token})
        answered, _headers, page = server.request("GET", LIST, Cookie=cookies)

    assert (answered, b"article-107" in page) == (200, not committed), "the next worker serves"
    letter.refresh_from_db()
    assert letter.state == ("requeued" if committed else "open")
    assert letter.redrives.count() == letter.decisions.count() == int(committed)
    assert requeue(letter).done is not committed
    assert relay_once() == 0
    await_the_one_effect(letter)


def test_a_relay_that_dies_with_a_redrive_repeats_it_and_the_effect_stays_one(
    run: Run, queues: Queues
) -> None:
    steps: list[Step] = [(SETTLE, "before"), (SETTLE, "after"), (MARK, "after")]
    for number, step in enumerate(steps):
        letter = a_letter(queues, "audit", published(f"article-{number}"))
        requeue(letter)

        die(run, step, "relay_outbox")
        RelayLease.objects.all().delete()  # nobody waits here for the dead one's to run out

        assert relay_once() == 0
        await_the_one_effect(letter)
    assert DeadLetter.objects.count() == len(steps)


def test_a_collector_that_dies_while_it_resolves_does_it_the_next_time(
    run: Run, queues: Queues
) -> None:
    steps: list[Step] = [(RESOLVE, "before"), (RESOLVE, "after")]
    for number, step in enumerate(steps):
        letter = a_letter(queues, "audit", published(f"article-{number}"))
        requeue(letter)
        relay_once()
        consume_once("audit")

        die(run, step, "collect_dead_letters")

        await_the_one_effect(letter)
        assert actions(letter) == ["requeue", "resolved"]


def die(run: Run, step: Step, *command: str) -> None:
    function, when = step
    died = run.killed_at(function, *command, when=when)
    assert died.wait() == -9, died.report()


def await_the_one_effect(letter: DeadLetter) -> None:
    assert consume_once("audit") == 0
    collect_once()
    letter.refresh_from_db()
    assert letter.state == "resolved"
    assert AuditRecord.objects.filter(event_id=letter.event_id).count() == 1
