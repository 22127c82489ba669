"""Publishing and withdrawing: one transaction, one revision, one event; or a refusal and none."""

import json
import uuid

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction

from materials import actions
from materials.events import PUBLISHED, WITHDRAWN
from materials.models import Material, Revision
from materials.refusals import (
    DraftChanged,
    InvalidMaterial,
    NothingChanged,
    NotPublished,
    UnknownMaterial,
)
from messaging import outbox
from messaging.models import OutboxMessage
from tests.materials.makers import draft, facts, published

pytestmark = pytest.mark.django_db


def test_publishing_stores_state_revision_and_event_together() -> None:
    draft(title="Queues that forgive", summary="Short.", body="Long.", language="en", tags=["amqp"])
    user = User.objects.create_user("grace")

    revision = actions.publish("article-107", actor="grace", user=user)

    material = Material.objects.get()
    assert (material.state, material.revision, material.differs) == ("published", 1, False)
    stored = Revision.objects.get()
    assert stored == revision
    assert (stored.number, stored.kind, stored.actor, stored.user) == (
        1,
        "published",
        "grace",
        user,
    )
    assert stored.content == material.content
    message = OutboxMessage.objects.get()
    assert message.event_id == stored.event_id
    assert (message.state, message.consumer, message.revision) == ("pending", "", 1)
    event = json.loads(bytes(message.body))
    assert uuid.UUID(event["eventId"]) == stored.event_id
    assert event == {
        "eventId": str(stored.event_id),
        "type": PUBLISHED,
        "schemaVersion": 1,
        "occurredAt": event["occurredAt"],
        "materialId": "article-107",
        "revision": 1,
        "actor": "grace",
        "data": {
            "title": "Queues that forgive",
            "summary": "Short.",
            "body": "Long.",
            "language": "en",
            "tags": ["amqp"],
        },
    }
    assert event["occurredAt"] == stored.happened_at.isoformat().replace("+00:00", "Z")


def test_an_event_without_language_and_tags_does_not_name_them() -> None:
    published(language="", tags=[])

    data = json.loads(bytes(OutboxMessage.objects.get().body))["data"]
    assert "language" not in data
    assert data.get("tags", []) == []


def test_revisions_grow_by_one_through_publishing_withdrawing_and_publishing_again() -> None:
    published()

    actions.edit("article-107", title="Another title", actor="ada")
    actions.publish("article-107", actor="ada")
    actions.withdraw("article-107", reason="Out of date.", actor="grace")
    actions.publish("article-107", actor="ada")

    assert facts() == [
        ("article-107", PUBLISHED, 1),
        ("article-107", PUBLISHED, 2),
        ("article-107", WITHDRAWN, 3),
        ("article-107", PUBLISHED, 4),
    ]
    assert list(Revision.objects.values_list("number", flat=True)) == [4, 3, 2, 1]
    assert OutboxMessage.objects.values("event_id").distinct().count() == 4


def test_a_withdrawal_tells_who_and_why_and_keeps_the_draft() -> None:
    before = published(body="Keep me.")

    actions.withdraw("article-107", reason="Out of\ndate.", actor="grace")

    material = Material.objects.get()
    assert (material.state, material.revision) == ("withdrawn", 2)
    assert material.content == before.content
    event = json.loads(bytes(OutboxMessage.objects.get(revision=2).body))
    assert event["data"] == {"reason": "Out of date."}
    assert event["actor"] == "grace"
    assert Revision.objects.get(number=2).reason == "Out of date."


def test_publishing_the_same_content_again_is_refused_without_an_event() -> None:
    published(title="Queues that forgive")

    with pytest.raises(NothingChanged, match="“Queues that forgive” is published as it stands"):
        actions.publish("article-107", actor="ada")

    assert len(facts()) == 1
    assert Revision.objects.count() == 1


def test_a_draft_edited_back_to_what_is_published_has_nothing_to_publish() -> None:
    published(title="One", body="")
    actions.edit("article-107", title="Two", actor="ada")
    assert Material.objects.get().differs

    actions.edit("article-107", title="One", actor="ada")

    assert not Material.objects.get().differs
    with pytest.raises(NothingChanged):
        actions.publish("article-107", actor="ada")


def test_the_same_content_may_be_published_again_after_a_withdrawal() -> None:
    published()
    actions.withdraw("article-107", reason="", actor="ada")

    revision = actions.publish("article-107", actor="ada")

    assert revision.number == 3
    assert Material.objects.get().state == "published"


def test_withdrawing_a_draft_is_refused_without_an_event() -> None:
    draft(title="Queues that forgive")

    with pytest.raises(NotPublished, match="never published"):
        actions.withdraw("article-107", reason="", actor="ada")

    assert facts() == []
    assert Material.objects.get().state == "draft"


def test_withdrawing_twice_is_refused_without_an_event() -> None:
    published()
    actions.withdraw("article-107", reason="", actor="ada")

    with pytest.raises(NotPublished, match="withdrawn already"):
        actions.withdraw("article-107", reason="", actor="ada")

    assert len(facts()) == 2


@pytest.mark.parametrize(
    "material_id", ["article-108", "", "a\x00b", "\ud800", "ä" * 70, "A" * 900]
)
def test_an_unknown_material_is_told_as_such(material_id: str) -> None:
    draft()

    for act in (actions.publish, actions.withdraw):
        with pytest.raises(UnknownMaterial) as refusal:
            act(material_id, actor="ada")
        str(refusal.value).encode("utf-8")


def test_publishing_is_refused_when_the_draft_is_not_the_one_that_was_seen() -> None:
    seen = draft()
    actions.edit("article-107", title="Something else", actor="grace")

    with pytest.raises(DraftChanged, match="grace saved another draft"):
        actions.publish("article-107", actor="ada", version=seen.version)

    assert facts() == []


@pytest.mark.parametrize("reason", ["x" * 501, "a\x00b", "\udcff"])
def test_a_reason_that_no_event_can_hold_is_refused(reason: str) -> None:
    published()

    with pytest.raises(InvalidMaterial) as refusal:
        actions.withdraw("article-107", reason=reason, actor="ada")

    assert set(refusal.value.errors) == {"reason"}
    assert len(facts()) == 1


@pytest.mark.parametrize("actor", ["", "   ", "x" * 151, "a\x00b", "\ud800"])
def test_nobody_acts_under_a_name_that_no_event_can_hold(actor: str) -> None:
    published()
    actions.edit("article-107", title="Another", actor="ada")

    for act in (actions.publish, actions.withdraw):
        with pytest.raises(InvalidMaterial) as refusal:
            act("article-107", actor=actor)
        assert set(refusal.value.errors) == {"actor"}
    assert len(facts()) == 1


@pytest.mark.parametrize("act", [actions.publish, actions.withdraw])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_failure_beside_the_outbox_row_leaves_neither_state_nor_event(
    monkeypatch: pytest.MonkeyPatch, act, moment: str
) -> None:
    published()
    actions.edit("article-107", title="Another title", actor="ada")
    before = Material.objects.values().get()

    def fail(event, **options):
        if moment == "after":
            record(event, **options)
        raise RuntimeError("the power went")

    record = outbox.record
    monkeypatch.setattr(outbox, "record", fail)
    with pytest.raises(RuntimeError):
        act("article-107", actor="ada")

    assert Material.objects.values().get() == before
    assert Revision.objects.count() == 1
    assert len(facts()) == 1


def test_an_act_is_part_of_the_callers_transaction() -> None:
    draft()

    def change_of_mind() -> None:
        with transaction.atomic():
            actions.publish("article-107", actor="ada")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change_of_mind()

    assert Material.objects.get().state == "draft"
    assert facts() == []


def test_a_database_error_that_does_not_pass_by_itself_is_not_told_as_busy() -> None:
    published()

    def break_down(execute, sql, params, many, context):
        raise OperationalError("no such table")

    with connection.execute_wrapper(break_down), pytest.raises(OperationalError):
        actions.withdraw("article-107", actor="ada")
