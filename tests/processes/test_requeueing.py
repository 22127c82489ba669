"""A letter's way back: to its consumer alone, as it died, until its receipt or a new death."""

import json
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging.broker.address import BrokerAddress
from messaging.envelope import Event
from messaging.errors import MalformedEvent, TransientError
from messaging.letters import dead_letters, pieces
from messaging.letters.corrections import correct
from messaging.models import (
    DeadLetter,
    FailedAttempt,
    InboxReceipt,
    OutboxMessage,
    RelayLease,
)
from messaging.operating.decision_log import Operator
from messaging.sending.outbox_queue import mark_sent
from tests.eventually import eventually
from tests.messaging.at_once import at_once
from tests.messaging.facts import published
from tests.processes.collecting import (
    a_letter,
    actions,
    bury,
    collect_once,
    collecting,
    letter_of,
    requeue,
)
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import relay_once, relaying
from tests.processes.working import consume_once, working

OLGA, BORIS = Operator("olga"), Operator("boris")


def failing(error: Exception) -> Any:
    def apply(events: Sequence[Event], using: str) -> set[str]:
        raise error

    return apply


def test_a_requeued_letter_goes_to_its_consumer_alone_as_it_died(run: Run, queues: Queues) -> None:
    event = published()
    headers = {
        "traceparent": "00-ab-cd-01",
        "price": Decimal("1.50"),
        "x-death": [{"count": 3}],
        b"\xff": 1.5,
    }
    letter = a_letter(queues, "catalog", event, headers=headers, app_id="another")

    assert requeue(letter, note="the disk is back").said == "Requeued."
    relay_once()

    assert queues.ready("audit") == {}
    message = queues.wire.get(queues.topology.main("catalog"))
    assert message is not None
    assert message.body == event.body
    del headers["x-death"]
    assert message.headers == headers | {"attempt": 0}
    properties = message.properties
    assert (properties.message_id, properties.type) == (event.event_id, event.type)
    assert (properties.app_id, properties.content_type) == ("catalogsite", "application/json")
    letter.refresh_from_db()
    assert (letter.state, actions(letter)) == ("requeued", ["requeue"])
    line = letter.decisions.get()
    assert (line.operator, line.note) == ("olga", "the disk is back")


def test_a_letter_requeued_while_its_consumer_is_stopped_resolves_when_it_starts(
    run: Run, queues: Queues
) -> None:
    event = published()
    letter = a_letter(queues, "catalog", event)

    with collecting(), relaying():
        requeue(letter)
        queues.await_ready("catalog", main=1)
        letter.refresh_from_db()
        assert letter.state == "requeued"
        with working("catalog"):
            eventually(lambda: letter_of(event).state == "resolved", what="resolved")

    assert CatalogEntry.objects.get().title == "A title"
    assert actions(letter) == ["requeue", "resolved"]
    assert letter.decisions.get(action="resolved").operator == "delivery"


def test_what_was_handled_before_the_broker_went_is_resolved_while_it_is_away(
    run: Run, queues: Queues, settings: Settings
) -> None:
    event = published()
    letter = a_letter(queues, "audit", event)
    requeue(letter)
    relay_once()
    consume_once("audit")
    settings.AMQP = BrokerAddress.parse("amqp://guest:guest@127.0.0.1:9/%2F")

    with collecting():
        eventually(lambda: letter_of(event, "audit").state == "resolved", what="resolved")


def test_a_letter_that_dies_again_is_open_again_with_its_history(run: Run, queues: Queues) -> None:
    event = published()
    letter = a_letter(queues, "catalog", event)

    with collecting(), relaying(), working("catalog", apply=failing(MalformedEvent("still bad"))):
        requeue(letter)
        eventually(lambda: letter_of(event).deaths == 2, what="the second death")

    letter.refresh_from_db()
    assert DeadLetter.objects.count() == 1
    assert (letter.state, letter.copies) == ("open", 1)
    assert (letter.reason, letter.error) == ("MalformedEvent", "still bad")
    assert letter.place.endswith("test_requeueing.py, apply")
    assert actions(letter) == ["requeue", "died_again"]
    deaths = letter.history.order_by("pk")
    assert [death.reason for death in deaths] == ["SimulatedTransientError", "MalformedEvent"]
    assert requeue(letter).done, "and may be requeued again"


def test_a_new_death_in_the_second_of_the_old_one_is_not_taken_for_it(
    run: Run, queues: Queues
) -> None:
    event = published()
    letter = a_letter(queues, "catalog", event, died_at=1_764_500_000)
    requeue(letter)

    again = a_letter(queues, "catalog", event, died_at=1_764_500_000)

    assert (again.state, again.deaths) == ("open", 2)


def test_a_late_copy_opens_the_letter_and_the_receipt_still_resolves_it(
    run: Run, queues: Queues
) -> None:
    event = published()
    letter = a_letter(queues, "audit", event, died_at=1_764_500_000)
    requeue(letter)
    relay_once()
    late = a_letter(queues, "audit", event, died_at=1_764_500_007)
    assert late.state == "open"

    consume_once("audit")
    collect_once()

    letter.refresh_from_db()
    assert letter.state == "resolved"
    assert AuditRecord.objects.count() == 1


def test_a_failure_of_what_was_settled_is_never_hidden(run: Run, queues: Queues) -> None:
    event = published()
    letter = a_letter(queues, "catalog", event, died_at=1_764_500_000)
    dead_letters.discard([letter.pk], operator=OLGA, reason="test data")

    again = a_letter(queues, "catalog", event, died_at=1_764_500_100)

    assert (again.state, again.deaths) == ("open", 2)
    assert actions(letter) == ["discard", "died_again"]


def test_of_two_operators_one_requeues_and_the_other_learns_who_it_was(
    run: Run, queues: Queues
) -> None:
    letter = a_letter(queues, "audit", published())

    answers = at_once(lambda: requeue(letter, by="olga"), lambda: requeue(letter, by="boris"))

    said = sorted((answer.done, answer.said) for answer in answers)
    winner = letter.decisions.get().operator
    assert [done for done, _ in said] == [False, True]
    assert f"already requeued by {winner}" in said[0][1]
    assert OutboxMessage.objects.filter(letter=letter).count() == 1
    relay_once()
    consume_once("audit")
    assert InboxReceipt.objects.get(consumer="audit").duplicates == 0


def test_ten_clicks_at_once_are_one_requeue(run: Run, queues: Queues) -> None:
    letters = [a_letter(queues, "audit", published(f"article-{n}")) for n in range(3)]
    ids = [letter.pk for letter in letters]

    clicks = at_once(lambda: dead_letters.requeue(ids, operator=OLGA), times=5)

    assert sum(answer.done for answers in clicks for answer in answers) == 3
    assert OutboxMessage.objects.count() == 3


def test_a_requeue_starts_a_new_budget_of_attempts(
    run: Run, long_delay: None, queues: Queues
) -> None:
    event = published()
    queues.publish(event, attempt=3)
    assert consume_once("catalog", apply=failing(TransientError("busy"))) == 0
    collect_once()
    letter = letter_of(event)
    assert (letter.reason, letter.error, letter.attempt) == ("TransientError", "busy", 3)

    requeue(letter)
    relay_once()
    consume_once("catalog", apply=failing(TransientError("busy")))

    queues.await_ready("catalog", retry=1)
    counted = FailedAttempt.objects.filter(consumer="catalog", counted=True)
    assert [row.attempt for row in counted] == [0]


def test_a_letter_that_is_applied_already_resolves_without_a_second_effect(
    run: Run, queues: Queues
) -> None:
    event = published()
    queues.publish(event)
    consume_once("audit")
    letter = a_letter(queues, "audit", event)

    requeue(letter)
    relay_once()
    consume_once("audit")
    collect_once()

    letter.refresh_from_db()
    assert letter.state == "resolved"
    assert InboxReceipt.objects.get(consumer="audit").duplicates == 1
    assert AuditRecord.objects.count() == 1


def test_what_would_die_again_is_refused_with_the_reason_and_goes_by_force(
    run: Run, queues: Queues
) -> None:
    bury(queues, "catalog", b"not json", message_id="odd id", type="odd.type")
    collect_once()
    letter = DeadLetter.objects.get()

    refused = requeue(letter)
    forced = requeue(letter, force=True)
    relay_once()

    assert not refused.done
    assert refused.said.startswith("The body cannot be read, so it would die again at once: not")
    assert forced.done
    message = queues.wire.get(queues.topology.main("catalog"))
    assert message is not None
    assert (message.body, message.headers) == (b"not json", {"attempt": 0})
    assert (message.properties.message_id, message.properties.type) == ("odd id", "odd.type")


def test_a_conflict_is_not_resolved_by_the_fact_that_stands_before_it(
    run: Run, queues: Queues
) -> None:
    first = published(title="First")
    other = published(title="Other", eventId=first.event_id)
    queues.publish(first, other)
    consume_once("catalog")
    collect_once()
    letter = letter_of(other)
    assert letter.reason == "FactConflict"

    refused = requeue(letter)
    assert requeue(letter, force=True).done
    collect_once()
    letter.refresh_from_db()
    state_on_the_way = letter.state
    relay_once()
    consume_once("catalog")
    collect_once()

    assert refused.said.startswith("Another fact stands in its place")
    assert state_on_the_way == "requeued"
    letter.refresh_from_db()
    assert (letter.state, letter.deaths) == ("open", 2)
    assert CatalogEntry.objects.get().title == "First"


def test_a_missing_queue_is_seen_at_the_letter_and_the_redrive_goes_once_it_is_back(
    run: Run, queues: Queues
) -> None:
    event = published()
    letter = a_letter(queues, "catalog", event)

    with relaying():
        eventually(RelayLease.objects.exclude(owner="").exists, what="a session of the relay")
        queues.wire.delete_queue(queues.topology.main("catalog"))
        requeue(letter)
        row = eventually(
            lambda: OutboxMessage.objects.filter(letter=letter, attempts__gte=1).first(),
            what="the return",
        )
        letter.refresh_from_db()
        refused = requeue(letter)
        queues.declare()
        queues.await_ready("catalog", main=1)

    assert row.last_error.startswith("returned: 312")
    assert letter.state == "requeued"
    assert "It waits in the outbox: returned: 312" in refused.said
    assert OutboxMessage.objects.filter(letter=letter).count() == 1


def test_a_parked_redrive_goes_again_by_the_same_button_and_is_not_doubled(
    run: Run, queues: Queues
) -> None:
    letter = a_letter(queues, "catalog", published())
    requeue(letter)
    letter.redrives.update(state="failed", attempts=8, last_error="returned: 312 NO_ROUTE")

    answer = requeue(letter, by="boris")

    assert answer.done
    row = letter.redrives.get()
    assert (row.state, row.attempts, row.last_error) == ("pending", 0, "")
    assert actions(letter) == ["requeue", "requeue"]


def test_a_row_that_the_relay_is_sending_cannot_pass_for_a_later_redrive(
    run: Run, queues: Queues
) -> None:
    event = published()
    letter = a_letter(queues, "audit", event, died_at=1_764_500_000)
    requeue(letter)
    (read_by_relay,) = OutboxMessage.objects.all()
    a_letter(queues, "audit", event, died_at=1_764_500_007)  # a late copy opens it again
    corrected = published(title="Corrected", eventId=event.event_id)
    assert correct(letter.pk, corrected.body, operator=OLGA).done

    mark_sent([read_by_relay.pk], using="default")
    relay_once()

    (message,) = queues.wire.drain(queues.topology.main("audit"))
    assert message.body == corrected.body


def test_a_parked_redrive_may_be_given_up(run: Run, queues: Queues) -> None:
    letter = a_letter(queues, "catalog", published())
    requeue(letter)
    refused = dead_letters.discard([letter.pk], operator=OLGA, reason="no")[0]
    letter.redrives.update(state="failed")

    done = dead_letters.discard([letter.pk], operator=OLGA, reason="the consumer is gone")[0]

    assert (refused.done, done.done) == (False, True)
    assert letter.redrives.count() == 0


def test_what_the_queue_has_lost_goes_again_by_force(run: Run, queues: Queues) -> None:
    event = published()
    letter = a_letter(queues, "audit", event)
    requeue(letter)
    relay_once()
    queues.wire.drain(queues.topology.main("audit"))

    refused = requeue(letter)
    forced = requeue(letter, force=True)
    relay_once()
    consume_once("audit")
    collect_once()

    assert "It was sent and has no receipt yet." in refused.said
    assert forced.done
    assert letter_of(event, "audit").state == "resolved"


def test_a_discarded_letter_needs_a_reason_and_can_be_restored(run: Run, queues: Queues) -> None:
    letter = a_letter(queues, "catalog", published())
    with pytest.raises(ValueError, match="needs a reason"):
        dead_letters.discard([letter.pk], operator=OLGA, reason="  ")

    discarded = dead_letters.discard([letter.pk], operator=OLGA, reason=" test data ")
    twice = dead_letters.discard([letter.pk], operator=BORIS, reason="me too")
    requeued = requeue(letter)
    restored = dead_letters.restore([letter.pk], operator=BORIS)
    unknown = dead_letters.restore([letter.pk, 10**9], operator=BORIS)

    assert discarded[0].done
    assert "discarded by olga" in twice[0].said
    assert "restore it first" in requeued.said
    assert restored[0].done
    assert [answer.said for answer in unknown] == ["It is open.", "There is no such letter."]
    letter.refresh_from_db()
    assert (letter.state, actions(letter)) == ("open", ["discard", "restore"])
    assert letter.decisions.order_by("pk").first().note == "test data"  # type: ignore[union-attr]


def test_a_decision_of_many_names_each_and_refuses_one_without_the_others(
    run: Run, queues: Queues
) -> None:
    good = a_letter(queues, "catalog", published("article-1"))
    bury(queues, "catalog", b"bad")
    collect_once()
    bad = DeadLetter.objects.get(event_id=None)

    answers = dead_letters.requeue([bad.pk, good.pk, good.pk, 77_777], operator=OLGA)

    assert [(answer.letter_id, answer.done) for answer in answers] == [
        (bad.pk, False),
        (good.pk, True),
        (77_777, False),
    ]


def test_the_log_names_the_account_and_the_address(run: Run, queues: Queues) -> None:
    from django.contrib.auth import get_user_model

    account = get_user_model().objects.create_user("olga")
    letter = a_letter(queues, "catalog", published())

    by = Operator("olga", user_id=account.pk, source_ip="2001:db8::1")
    dead_letters.requeue([letter.pk], operator=by)
    account.delete()

    line = letter.decisions.get()
    assert (line.operator, line.user_id, line.source_ip) == ("olga", None, "2001:db8::1")


def test_the_pieces_of_a_large_decision_are_bounded_and_leave_nothing_out(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 3)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 250)
    monkeypatch.setattr(pieces, "STRETCH", 4)
    for number in range(7):
        body = b"x" * (200 if number == 3 else 60) + str(uuid.uuid4()).encode()
        bury(queues, "catalog", body)
    collect_once()

    sizes = []
    newest = pieces.newest_letter(using="default")
    for piece in pieces.pieces(DeadLetter.objects.open(), newest=newest):
        sizes.append([DeadLetter.objects.get(pk=pk).body_size for pk in piece])
        dead_letters.discard(piece, operator=OLGA, reason="all")

    assert sum(len(piece) for piece in sizes) == 7
    assert all(sum(piece) <= 250 or len(piece) == 1 for piece in sizes)
    assert not DeadLetter.objects.open().exists()


def test_the_shell_works_while_the_broker_is_away(run: Run, queues: Queues) -> None:
    letter = a_letter(queues, "audit", published())
    nobody = {"AMQP_URL": "amqp://guest:guest@127.0.0.1:9/"}

    listed = run.manage("dead_letters", "list", "--json", **nobody)
    requeued = run.manage("dead_letters", "requeue", str(letter.pk), **nobody)

    assert (listed.returncode, requeued.returncode) == (0, 0), listed.stderr + requeued.stderr
    assert [entry["id"] for entry in json.loads(listed.stdout)] == [letter.pk]
    assert requeued.stdout == f"{letter.pk}: Requeued.\n"
    relay_once()
    queues.await_ready("audit", main=1)


def test_a_busy_database_is_told_and_nothing_has_changed(
    run: Run, queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = a_letter(queues, "catalog", published())
    monkeypatch.setattr("messaging.storing.patient_transactions._FIRST_PAUSE_SECONDS", 0.01)
    from django.db import OperationalError

    from messaging.letters import redrives

    calls = []

    def busy(*args: Any, **options: Any) -> None:
        calls.append(1)
        if connection.vendor == "sqlite":
            import sqlite3

            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise OperationalError("database is locked") from error
        import psycopg.errors

        raise OperationalError("deadlock") from psycopg.errors.DeadlockDetected("deadlock")

    monkeypatch.setattr(redrives, "send", busy)

    with pytest.raises(TransientError, match="Nothing was changed"):
        requeue(letter)

    letter.refresh_from_db()
    assert (len(calls), letter.state, actions(letter)) == (4, "open", [])
