"""Which receipt resolves a requeued letter: that of the very body that was sent."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from messaging import registry
from messaging.envelope import decode
from messaging.handling import inbox
from messaging.letters import dead_letters
from messaging.letters.corrections import correct
from messaging.letters.resolution import resolve_delivered
from messaging.models import DeadLetter
from messaging.operating.decision_log import Operator
from tests.messaging.dead import died
from tests.messaging.event_bodies import EVENT_ID, TYPES, as_bytes, published, replaced

pytestmark = pytest.mark.django_db

OLGA = Operator("olga")
GOOD = as_bytes(published())


def handle(body: bytes) -> None:
    inbox.handle(registry.consumer("catalog"), [decode(body, TYPES)])


def state_after_the_sweep(letter: DeadLetter) -> str:
    resolve_delivered(using="default")
    letter.refresh_from_db()
    return letter.state


@pytest.mark.parametrize(
    "body",
    [
        GOOD[:-1],
        GOOD[:-1] + b', "eventId": "0190a6f0-0000-7000-8000-0000000000ff"}',
        GOOD.replace(EVENT_ID.encode(), EVENT_ID.upper().encode()),
    ],
    ids=["cut off", "two ids", "upper case"],
)
def test_a_letter_without_a_readable_id_is_resolved_by_the_receipt_of_its_correction(
    body: bytes,
) -> None:
    letter = died(body, reason="MalformedEvent", attempt=0)
    assert letter.event_id is None

    assert correct(letter.pk, GOOD, operator=OLGA).done
    assert state_after_the_sweep(letter) == "requeued"
    handle(GOOD)

    assert state_after_the_sweep(letter) == "resolved"
    assert str(letter.sent_event_id) == str(letter.awaited_event_id) == EVENT_ID
    assert list(letter.decisions.values_list("action", flat=True)) == ["resolved", "correct"]


def test_the_id_of_a_former_correction_is_not_awaited_any_longer() -> None:
    letter = died(b"no event", reason="MalformedEvent", attempt=0)
    correct(letter.pk, GOOD, operator=OLGA)
    with pytest.raises(DeadLetter.DoesNotExist):
        died(GOOD, reason="TransientError")
    other = as_bytes(published(eventId="0190a6f0-0000-7000-8000-0000000000ff", revision=4))
    correct(letter.pk, other, operator=OLGA)
    handle(GOOD)

    assert state_after_the_sweep(letter) == "requeued"
    handle(other)
    assert state_after_the_sweep(letter) == "resolved"


def test_another_body_under_its_id_does_not_resolve_a_letter_that_is_no_event() -> None:
    letter = died(replaced("revision", '"3"'), reason="MalformedEvent", attempt=0)
    dead_letters.requeue([letter.pk], operator=OLGA, force=True)

    handle(GOOD)

    assert state_after_the_sweep(letter) == "requeued"


def test_a_body_that_was_unknown_when_it_was_sent_is_resolved_once_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    letter = died(GOOD, reason="UnsupportedEvent", attempt=0)
    with monkeypatch.context() as before_the_upgrade:
        nothing: dict[Any, Any] = {}
        before_the_upgrade.setattr(registry, "event_types", lambda: nothing)
        dead_letters.requeue([letter.pk], operator=OLGA, force=True)
    letter.refresh_from_db()
    assert letter.sent_fingerprint is None

    handle(GOOD)

    assert state_after_the_sweep(letter) == "resolved"


def test_letters_that_were_corrected_before_this_was_known_are_named_by_the_migration() -> None:
    letter = died(b"no event", reason="MalformedEvent", attempt=0)
    correct(letter.pk, GOOD, operator=OLGA)
    DeadLetter.objects.update(sent_event_id=None)
    handle(GOOD)

    migration = import_module("messaging.migrations.0006_sent_events_and_ended_batches")
    migration.name_sent_events(apps, SimpleNamespace(connection=connection))

    assert state_after_the_sweep(letter) == "resolved"
