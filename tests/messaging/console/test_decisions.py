"""Decisions in the console: who may take them, what they do, and what is said of each."""

import json
import threading
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.messages import get_messages
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from messaging.errors import TransientError
from messaging.letters import dead_letters, pieces
from messaging.models import (
    Correction,
    DeadLetter,
    InboxReceipt,
    OperatorBatch,
    OperatorDecision,
    OutboxMessage,
)
from tests.messaging import event_bodies, facts
from tests.messaging.console_pages import (
    ALL_RIGHTS,
    LIST,
    QUEUES,
    SignIn,
    decision_url,
    letter_url,
)
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db


def said(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def acts(letter_id: int) -> dict[str, tuple[str, dict[str, str]]]:
    """Every POST of the console, by the right that it needs."""
    return {
        "requeue": (decision_url("requeue", letter_id), {}),
        "discard": (decision_url("discard", letter_id), {"note": "old"}),
        "restore": (decision_url("restore", letter_id), {}),
        "correct": (letter_url(letter_id, "correct"), {"body": "{}"}),
        "dry-run": (letter_url(letter_id, "dry-run"), {}),
        "pause": (f"{QUEUES}hold/", {"target": "catalog", "reason": "why"}),
        "resume": (f"{QUEUES}resume/", {"target": "catalog"}),
        "requeue all": (decision_url("requeue", all="1"), {}),
    }


NEEDED = {
    "requeue": "requeue_deadletter",
    "discard": "discard_deadletter",
    "restore": "discard_deadletter",
    "correct": "correct_deadletter",
    "dry-run": "requeue_deadletter",
    "pause": "pause_delivery",
    "resume": "pause_delivery",
    "requeue all": "requeue_deadletter",
}


@pytest.mark.parametrize("act", NEEDED)
def test_every_act_needs_its_own_right_and_no_other_opens_it(sign_in: SignIn, act: str) -> None:
    letter = died(facts.published())
    address, data = acts(letter.pk)[act]
    others = [right for right in ALL_RIGHTS if right != NEEDED[act]]

    refused = sign_in(*others).post(address, data)

    assert refused.status_code == 403
    assert DeadLetter.objects.get().state == "open"
    assert not OutboxMessage.objects.exists()
    assert sign_in(*others, NEEDED[act]).post(address, data).status_code in (200, 302, 400)


@pytest.mark.parametrize("act", NEEDED)
def test_nobody_acts_without_signing_in_being_staff_and_active_and_a_token(
    sign_in: SignIn, act: str
) -> None:
    letter = died(facts.published())
    address, data = acts(letter.pk)[act]
    staff = sign_in(*ALL_RIGHTS, name="staff")
    no_staff = sign_in(*ALL_RIGHTS, staff=False)
    inactive = sign_in(*ALL_RIGHTS, name="gone")
    User.objects.filter(username="gone").update(is_active=False)
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.get(username="staff"))

    assert no_staff.post(address, data).status_code == 403
    for client in (Client(), inactive):
        response = client.post(address, data)
        assert response.status_code == 302
        assert "/login/" in response["Location"]
    assert careful.post(address, data).status_code == 403  # no token
    assert DeadLetter.objects.get().state == "open"
    assert not OutboxMessage.objects.exists()
    assert staff.post(address, data).status_code in (200, 302, 400)


def test_operators_have_every_right_but_to_correct() -> None:
    user = User.objects.create_user("olga", is_staff=True)
    user.groups.add(Group.objects.get(name="Operators"))

    have = {right for right in ALL_RIGHTS if user.has_perm(f"messaging.{right}")}

    assert have == set(ALL_RIGHTS) - {"correct_deadletter"}


def test_looking_at_a_decision_changes_nothing(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published())

    for verb in ("requeue", "discard", "restore"):
        page = client.get(decision_url(verb, letter.pk))
        assert page.status_code == 200

    assert DeadLetter.objects.get().state == "open"
    assert not OperatorDecision.objects.exists()


def test_a_requeue_is_one_outbox_row_and_a_line_with_who_whence_and_why(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS, name="olga")
    letter = died(facts.published())

    answer = client.post(
        decision_url("requeue", letter.pk, **{"from": "letter"}),
        {"note": "the lock is gone"},
        REMOTE_ADDR="192.0.2.9",
    )

    assert answer["Location"] == letter_url(letter.pk)
    row = OutboxMessage.objects.get()
    assert (bytes(row.body), row.consumer, row.letter_id) == (
        bytes(letter.body),
        "catalog",
        letter.pk,
    )
    line = OperatorDecision.objects.get()
    assert (line.action, line.operator, line.source_ip, line.note) == (
        "requeue",
        "olga",
        "192.0.2.9",
        "the lock is gone",
    )
    assert line.user is not None


def test_the_second_operator_is_told_who_was_first(sign_in: SignIn) -> None:
    first, second = sign_in(*ALL_RIGHTS, name="olga"), sign_in(*ALL_RIGHTS, name="otto")
    letter = died(facts.published())

    first.post(decision_url("requeue", letter.pk))
    answer = second.post(decision_url("requeue", letter.pk))

    assert "already requeued by olga" in said(answer)
    assert OutboxMessage.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_send_one_copy(sign_in: SignIn) -> None:
    clients = [sign_in(*ALL_RIGHTS), sign_in(*ALL_RIGHTS)]
    letter = died(facts.published())
    gate = threading.Barrier(2)
    codes: list[int] = []

    def click(client: Client) -> None:
        gate.wait(10)
        codes.append(client.post(decision_url("requeue", letter.pk)).status_code)
        connection.close()

    threads = [threading.Thread(target=click, args=[client]) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert codes == [302, 302]
    assert OutboxMessage.objects.count() == 1
    assert OperatorDecision.objects.filter(action="requeue").count() == 1


def test_each_refusal_is_told_and_the_others_are_done(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    good = died(facts.published())
    bad = died(b"[]", reason="MalformedEvent", attempt=0)

    page = client.get(decision_url("requeue", good.pk, bad.pk))
    answer = client.post(decision_url("requeue", good.pk, bad.pk, 999_999))

    assert page.context["in_vain"] == 1
    assert "1 letter requeued" in said(answer)
    assert f"Letter {bad.pk}: The body cannot be read" in said(answer)
    assert "Letter 999999: There is no such letter" in said(answer)
    assert DeadLetter.objects.get(pk=bad.pk).state == "open"


def test_what_cannot_help_is_sent_only_when_asked_for_twice(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(b"[]", reason="MalformedEvent", attempt=0)

    client.post(decision_url("requeue", letter.pk), {"force": "1"})

    assert DeadLetter.objects.get().state == "requeued"
    assert bytes(OutboxMessage.objects.get().body) == b"[]"


def test_a_discard_wants_a_reason_and_can_be_taken_back(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published())

    refused = client.post(decision_url("discard", letter.pk), {"note": "  "})
    assert refused.status_code == 400
    assert DeadLetter.objects.get().state == "open"

    client.post(decision_url("discard", letter.pk), {"note": "a test message"})
    assert DeadLetter.objects.get().state == "discarded"

    client.post(decision_url("restore", letter.pk))
    assert DeadLetter.objects.get().state == "open"
    actions = OperatorDecision.objects.order_by("pk").values_list("action", "note")
    assert list(actions) == [("discard", "a test message"), ("restore", "")]


def test_only_the_superseded_are_discarded_when_so_asked(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    old = died(facts.published("article-107", 3))
    new = died(facts.published("article-108", 3))
    InboxReceipt.objects.create(
        consumer="catalog",
        event_id=event_bodies.EVENT_ID,
        type="material.published",
        material_id="article-107",
        revision=4,
        fingerprint=bytes(32),
        content_fingerprint=bytes(32),
    )

    client.post(decision_url("discard", all="1", superseded="1"), {"note": "overtaken"})

    assert DeadLetter.objects.get(pk=old.pk).state == "discarded"
    assert DeadLetter.objects.get(pk=new.pk).state == "open"


def test_a_dry_run_tells_what_would_change_and_changes_nothing(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published("article-107", 3, title="New title"))

    page = client.post(letter_url(letter.pk, "dry-run"))

    assert page.context["tried"]["outcome"] == "applied"
    assert "New title" in page.content.decode()
    assert not InboxReceipt.objects.exists()
    assert DeadLetter.objects.get().state == "open"


def test_a_dry_run_tells_the_error(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(b'{"eventId": 1}', reason="MalformedEvent", attempt=0)

    page = client.post(letter_url(letter.pk, "dry-run")).content.decode()

    assert "It would fail." in page
    assert "MalformedEvent" in page


def test_a_wrong_correction_is_told_beside_its_line_and_nothing_is_sent(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(event_bodies.as_bytes(event_bodies.published(revision="3")), attempt=0)
    text = '{\r\n "eventId": "0190a6f0-0000-7000-8000-000000000001",\r\n "revision": "x"\r\n}'

    page = client.post(letter_url(letter.pk, "correct"), {"body": text, "check": "1"})

    assert page.status_code == 400
    assert page.context["lines"] or page.context["general_faults"]
    assert "This body cannot be sent" in page.content.decode()
    assert not OutboxMessage.objects.exists()

    broken = client.post(letter_url(letter.pk, "correct"), {"body": '{\n"a": 1,\n"b" 2}'})
    wrong = [number for number, _text, faults in broken.context["lines"] if faults]
    assert wrong == [3]


def test_a_correction_is_sent_under_the_same_id_with_difference_and_author(
    sign_in: SignIn,
) -> None:
    client = sign_in(*ALL_RIGHTS, name="anna")
    original = event_bodies.as_bytes(event_bodies.with_data(title=7))
    letter = died(original, reason="MalformedEvent", attempt=0)
    body = event_bodies.as_bytes(event_bodies.with_data(title="Seven")).decode()

    checked = client.post(letter_url(letter.pk, "correct"), {"body": body, "check": "1"})
    assert checked.context["sound"]
    assert checked.context["tried"]["outcome"] == "applied"
    assert not OutboxMessage.objects.exists()

    sent = client.post(letter_url(letter.pk, "correct"), {"body": body, "note": "title as text"})

    assert sent["Location"] == letter_url(letter.pk)
    assert bytes(OutboxMessage.objects.get().body).decode() == body
    letter.refresh_from_db()
    assert bytes(letter.body) == original
    assert Correction.objects.get().operator == "anna"
    page = client.get(letter_url(letter.pk)).content.decode()
    assert "+    &quot;title&quot;: &quot;Seven&quot;" in page
    assert "title as text" in page


def test_another_event_id_is_no_correction(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published())

    page = client.post(letter_url(letter.pk, "correct"), {"body": facts.published().body.decode()})

    assert page.status_code == 400
    assert "eventId must stay" in page.content.decode()


def test_the_log_pages_show_decisions_and_take_no_changes(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS, "view_operatordecision", "view_operatorbatch")
    letter = died(facts.published())
    client.post(decision_url("discard", letter.pk), {"note": "<script>alert(1)</script>"})
    OperatorBatch.objects.create(action="requeue", operator="olga", matched=3)

    page = client.get("/admin/messaging/operatordecision/").content.decode()

    assert "&lt;script&gt;alert(1)" in page
    line = OperatorDecision.objects.get()
    change = f"/admin/messaging/operatordecision/{line.pk}/change/"
    assert client.get(change).status_code == 200
    assert client.post(change, {"note": "x"}).status_code == 403
    assert client.get("/admin/messaging/operatorbatch/").status_code == 200
    assert client.post(f"{LIST}{letter.pk}/change/", {"state": "open"}).status_code == 405
    assert client.post(f"{LIST}{letter.pk}/delete/").status_code == 403


def test_a_body_is_laid_out_to_be_corrected_and_its_layout_alone_is_no_correction(
    sign_in: SignIn,
) -> None:
    client = sign_in(*ALL_RIGHTS)
    document = event_bodies.published() | {"odd": 1e400, "mark": "\u202e\x7f\U000e0001", "n": []}
    original = event_bodies.as_bytes(document).replace(b"Infinity", b"1.50E+2")
    letter = died(original)

    page = client.get(letter_url(letter.pk, "correct"))

    laid_out = page.context["body"]
    assert json.loads(laid_out) == json.loads(original)
    assert '\n  "odd": 1.50E+2,\n' in laid_out
    assert r'"mark": "\u202e\u007f\udb40\udc01"' in laid_out
    assert "It is laid out for editing" in page.content.decode()
    sent = {"body": laid_out.replace("\n", "\r\n")}
    refused = client.post(letter_url(letter.pk, "correct"), sent)
    assert refused.status_code == 400
    assert "Nothing is changed but spaces" in refused.content.decode()
    assert not OutboxMessage.objects.exists()
    changed = laid_out.replace("1.50E+2", "151")
    client.post(letter_url(letter.pk, "correct"), {"body": changed})
    assert bytes(OutboxMessage.objects.get().body).decode() == changed


@pytest.mark.parametrize("body", [b"no json", b"{}x", b'{"a": 1} \xff', b"[" * 80 + b"]" * 80])
def test_what_is_no_json_or_too_deep_is_edited_as_it_is(sign_in: SignIn, body: bytes) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(body, reason="MalformedEvent", attempt=0)

    page = client.get(letter_url(letter.pk, "correct"))

    assert page.context["body"] == body.decode("utf-8", "replace")
    assert "It is laid out for editing" not in page.content.decode()


def test_a_simulated_failure_is_told_beside_what_would_happen(
    sign_in: SignIn, settings: Settings
) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published("article-107"))
    pages = (
        lambda: client.get(letter_url(letter.pk)),
        lambda: client.post(letter_url(letter.pk, "dry-run")),
    )

    assert all("is not known here" in page().content.decode() for page in pages)
    settings.SIMULATE_TEMPORARY = frozenset({"article-107"})
    assert all("names article-107 here" in page().content.decode() for page in pages)
    DeadLetter.objects.update(reason="TimeoutError")
    settings.SIMULATE_TEMPORARY = frozenset()
    assert not any("SIMULATE_TEMPORARY" in page().content.decode() for page in pages)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (TransientError("busy"), "The database was too busy"),
        (OperationalError("gone"), "The database went away"),
    ],
)
def test_a_decision_that_breaks_off_tells_what_was_done_before(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 1)
    letters = [died(facts.published(f"article-{number}")) for number in range(2)]
    discard = dead_letters.discard

    def break_off(ids: list[int], **of_decision: Any) -> list[dead_letters.Answer]:
        if letters[1].pk in ids:
            raise error
        return discard(ids, **of_decision)

    monkeypatch.setattr(dead_letters, "discard", break_off)

    answer = sign_in(*ALL_RIGHTS).post(
        decision_url("discard", *(letter.pk for letter in letters)), {"note": "old"}
    )

    assert answer.status_code == 302
    assert says in said(answer)
    assert f"Letter {letters[0].pk}: Discarded." in said(answer)


def test_a_letter_whose_redrive_has_not_gone_cannot_have_got_lost(sign_in: SignIn) -> None:
    letter = died(b"no event", reason="MalformedEvent", attempt=0)
    client = sign_in(*ALL_RIGHTS)

    first = client.post(decision_url("requeue", letter.pk), {"force": "1"})
    second = client.post(decision_url("requeue", letter.pk), {"force": "1"})
    OutboxMessage.objects.update(state="sent")
    third = client.post(decision_url("requeue", letter.pk), {"force": "1"})

    assert "Requeued." in said(first)
    assert "already requeued by" in said(second)
    assert "Requeued." in said(third)
    assert OperatorDecision.objects.filter(action="requeue").count() == 2


@pytest.mark.parametrize("act", ["hold", "resume"])
def test_a_target_with_a_sign_that_postgresql_cannot_keep_is_no_target(
    sign_in: SignIn, act: str
) -> None:
    answer = sign_in(*ALL_RIGHTS).post(f"{QUEUES}{act}/", {"target": "a\0b", "reason": "why"})

    assert answer.status_code in (302, 400)
    assert not OperatorDecision.objects.exists()
