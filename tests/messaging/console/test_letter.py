"""The page of one letter: everything is shown, nothing of it runs, every look is written down."""

import base64
import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from messaging.console import payload
from messaging.console.letter_page import SILENCE
from messaging.letters import dead_letters
from messaging.models import (
    DeadLetter,
    FailedAttempt,
    InboxReceipt,
    OperatorDecision,
    OutboxMessage,
    Pause,
)
from messaging.operating.decision_log import Operator
from tests.messaging import event_bodies, facts
from tests.messaging.console_pages import ALL_RIGHTS, LIST, QUEUES, SignIn, decision_url, letter_url
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script></pre></textarea><img src=x onerror=alert(2)>"
LOOKS = OperatorDecision.objects.filter(action="view_payload")

NASTY = {
    "script": SCRIPT.encode(),
    "script in JSON": json.dumps({"title": SCRIPT, SCRIPT: "javascript:alert(1)"}).encode(),
    "end of script": b'{"a": "</script><!--"}',
    "template": b'{"a": "{{ 7|add:1 }} {% now %}"}',
    "invalid UTF-8": b'{"title": "\xff\xfe"}',
    "lone surrogate": b'{"title": "\\ud800"}',
    "lone surrogate in bytes": b'{"title": "\xed\xa0\x80"}',
    "U+0000": b'{"title": "a\x00b"}',
    "bidi": '{"title": "\u202egnp.exe \u2066 \u200f"}'.encode(),
    "UTF-16": '{"title": "a"}'.encode("utf-16"),
    "all bytes": bytes(range(256)),
    "deep": b"[" * 5000,
    "deep and whole": b"[" * 200 + b"]" * 200,
    "huge number": b'{"n": ' + b"9" * 6000 + b"}",
    "numbers that are none": b'{"n": [NaN, Infinity, -Infinity, 1e999]}',
    "twice": b'{"a": 1, "a": 2}',
    "empty": b"",
    "a line feed": b"\n",
    "carriage returns": b'{\r\n"a": "\\r"}\r',
    "a character cut in two": b"x" * (payload.SHOWN_BYTES - 1) + "é".encode(),
    "ten megabytes": b"x" * 10_000_000,
}


@pytest.mark.parametrize("body", NASTY.values(), ids=NASTY.keys())
def test_no_body_breaks_the_pages_or_runs_in_them(sign_in: SignIn, body: bytes) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(body, reason="MalformedEvent", attempt=0)

    for page in ("change", "correct"):
        response = client.get(letter_url(letter.pk, page))
        assert response.status_code == 200
        assert_inert(response)
    assert_inert(client.post(letter_url(letter.pk, "dry-run")))
    assert client.get(letter_url(letter.pk, "body")).content == body


def test_no_header_property_or_error_runs_in_the_page(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(
        b"{}",
        reason=f"\u202e{SCRIPT}",
        attempt=SCRIPT,
        headers={SCRIPT: SCRIPT, b"\xff\x00": b"\x00\xff", "bidi\u202e": ["\u202e", {"\u2066": 1}]},
        type=SCRIPT,
        message_id=SCRIPT,
        routing_key=SCRIPT,
    )
    letter.history.create(
        reason="\u2066",
        error="\u202e",
        died_at=letter.died_at,
        redelivered=False,
        header_table=b"",
        mark=bytes(32),
    )
    died(b"[]", reason=f"\u202e{SCRIPT}")
    DeadLetter.objects.update(
        error=SCRIPT + "\u202e\x1b[31m", place=f"{SCRIPT}\u202e", material_id="article-107"
    )
    Pause.objects.create(target="catalog", operator="\u202e", reason="\u202e")

    for address in (letter_url(letter.pk), LIST, QUEUES, decision_url("requeue", letter.pk)):
        response = client.get(address)
        assert response.status_code == 200
        assert_inert(response)
    assert_inert(client.get("/admin/messaging/deadletter/failures/"))


def test_what_operators_write_and_tracebacks_say_runs_nowhere(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    event = facts.published()
    letter = died(event)
    FailedAttempt.objects.create(
        consumer="catalog",
        event_id=event.event_id,
        material_id=event.material_id,
        revision=event.revision,
        type=event.type,
        attempt=0,
        transient=True,
        error_class=SCRIPT,
        error_text=SCRIPT,
        traceback=f"File one\n{SCRIPT}",
    )
    client.post(f"/admin/messaging/deadletter/discard/?ids={letter.pk}", {"note": SCRIPT})

    page = client.get(letter_url(letter.pk))

    assert "File one" in page.content.decode()
    assert_inert(page)
    assert_inert(client.get("/admin/messaging/deadletter/?state=all"))


def assert_inert(response: Any) -> None:
    text = response.content.decode("utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert not re.search(
        "[\u202a-\u202e\u2066-\u2069\u200f\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", page_of(text)
    )
    assert "unsafe-inline" not in response["Content-Security-Policy"]
    assert not re.search(r"<(style|script)(?![^>]*\bsrc=)[^>]*>", text)
    assert not re.search(r'<[^>]*\s(style|on\w+)="', text)


def page_of(text: str) -> str:
    """The page without what the operator edits, which must stay as it is."""
    return re.sub(r"<textarea.*?</textarea>", "", text, flags=re.DOTALL)


def test_the_body_is_laid_out_beside_what_came(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    event = facts.published(title="Fünf Ω")
    letter = died(event)

    context = client.get(letter_url(letter.pk)).context

    assert '\n    "title": "Fünf Ω",\n' in context["pretty"].text
    assert context["raw"].kind == "text"
    assert context["raw"].text == event.body.decode()


def test_bytes_that_are_no_text_are_shown_in_hex_and_cut() -> None:
    shown = payload.raw(b"\xff<b>" + bytes(payload.SHOWN_BYTES))

    assert shown.kind == "hex"
    assert shown.text.splitlines()[0].startswith("000000  ff 3c 62 3e 00")
    assert shown.text.splitlines()[0].endswith(".<b>............")
    assert shown.cut_bytes == 4
    assert len(shown.text.splitlines()) == payload.SHOWN_BYTES // 16


def test_every_key_and_number_is_laid_out_as_it_was_written() -> None:
    laid_out = payload.pretty(b'{"a":1.00,"a":{"n":-0,"e":1E+9999},"l":[[],{},null,"x"]}')

    assert laid_out is not None
    assert [line.strip() for line in laid_out.text.splitlines()] == [
        "{",
        '"a": 1.00,',
        '"a": {',
        '"n": -0,',
        '"e": 1E+9999',
        "},",
        '"l": [',
        "[],",
        "{},",
        "null,",
        '"x"',
        "]",
        "}",
    ]


def test_a_body_that_grows_when_it_is_laid_out_is_cut() -> None:
    laid_out = payload.pretty(b"[" * 60 + b",".join([b"1"] * 100_000) + b"]" * 60)

    assert laid_out is not None
    assert laid_out.is_cut
    assert len(laid_out.text) <= payload.SHOWN_BYTES


def test_a_copy_of_which_nothing_is_heard_may_be_sent_once_more(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published())
    dead_letters.requeue([letter.pk], operator=Operator("olga"))
    OutboxMessage.objects.update(state="sent")
    once_more = f"Send letter {letter.pk} once more"

    assert once_more not in client.get(letter_url(letter.pk)).content.decode()

    DeadLetter.objects.update(requeued_at=timezone.now() - 2 * SILENCE)
    assert once_more in client.get(letter_url(letter.pk)).content.decode()
    client.post(decision_url("requeue", letter.pk), {"force": "1"})
    assert OutboxMessage.objects.filter(letter=letter, state="pending").count() == 1


def test_the_whole_body_is_a_file_that_no_browser_interprets(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter", "view_payload")
    body = b"<html><script>alert(1)</script>" + bytes(200_000)
    letter = died(body, reason="MalformedEvent")

    response = client.get(letter_url(letter.pk, "body"))

    assert response.content == body
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"].startswith("attachment")


def test_each_look_at_a_body_is_in_the_log_with_who_and_from_where(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter", "view_payload", name="olga")
    letter = died(facts.published())

    client.get(letter_url(letter.pk), REMOTE_ADDR="192.0.2.7")
    client.get(letter_url(letter.pk, "body"), REMOTE_ADDR="192.0.2.7")

    looks = LOOKS.order_by("pk").values_list("letter_id", "operator", "source_ip", "detail")
    assert list(looks) == [
        (letter.pk, "olga", "192.0.2.7", {"where": "page"}),
        (letter.pk, "olga", "192.0.2.7", {"where": "download"}),
    ]


def test_without_the_right_to_payloads_nothing_of_one_is_shown_or_logged(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter", "requeue_deadletter", "correct_deadletter")
    letter = died(facts.published(title="Hidden words"), headers={"x-hidden": "header words"})

    page = client.get(letter_url(letter.pk)).content.decode()

    assert "Hidden words" not in page
    assert "header words" not in page
    assert client.get(letter_url(letter.pk, "body")).status_code == 403
    assert client.get(letter_url(letter.pk, "correct")).status_code == 403
    assert client.post(letter_url(letter.pk, "dry-run")).status_code == 403
    assert not LOOKS.exists()


def test_a_body_whose_look_cannot_be_logged_is_not_shown(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OperationalError("read only")

    client = sign_in("view_deadletter", "view_payload")
    letter = died(facts.published(title="Hidden words"))
    monkeypatch.setattr("messaging.console.sightings.in_one_transaction", refuse)

    page = client.get(letter_url(letter.pk))

    assert page.status_code == 200
    assert "Hidden words" not in page.content.decode()


@pytest.mark.parametrize(
    ("body", "reason", "said"),
    [
        (b"[]", "MalformedEvent", "The body cannot be read"),
        (facts.published().body, "FactConflict", "Another fact stands in its place"),
    ],
)
def test_it_says_before_the_click_that_a_requeue_cannot_help(
    sign_in: SignIn, body: bytes, reason: str, said: str
) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(body, reason=reason, attempt=0)

    page = client.get(letter_url(letter.pk)).content.decode()

    assert "A requeue cannot help." in page
    assert said in page
    assert 'name="force"' in page


def test_the_story_is_on_top_and_nobody_sees_buttons_they_have_no_right_to(
    sign_in: SignIn,
) -> None:
    client = sign_in("view_deadletter")
    letter = died(facts.published("article-107", 3))

    page = client.get(letter_url(letter.pk)).content.decode()

    assert "catalog tried material.published article-107 r3 4 times and gave up" in page
    assert "Would apply" in page
    assert "<form" not in page.split("<main")[1]


def test_a_letter_that_is_not_there_is_a_404(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)

    for name in ("999999999999999999999999", "0", "1", "x", "%00", "-1"):
        assert client.get(f"/admin/messaging/deadletter/{name}/change/").status_code == 404


def test_headers_no_json_has_a_word_for_are_shown(sign_in: SignIn) -> None:
    client: Client = sign_in(*ALL_RIGHTS)
    letter = died(event_bodies.as_bytes([]), headers={"bin": b"\x00\xff"})

    assert (
        base64.b64encode(b"\x00\xff").decode() in client.get(letter_url(letter.pk)).content.decode()
    )


def test_a_page_names_its_letter_once_on_the_way_to_it(sign_in: SignIn) -> None:
    letter = died(facts.published("article-107"))
    client = sign_in(*ALL_RIGHTS)
    of_letter = client.get(letter_url(letter.pk)).content.decode()
    of_decision = client.get(decision_url("discard", letter.pk)).content.decode()

    def crumbs(page: str) -> list[str]:
        way = page.partition('<div class="breadcrumbs">')[2].partition("</div>")[0]
        return [re.sub(r"<[^>]+>", "", part).strip() for part in way.split("›")]

    above = ["Home", "Delivery", "Dead letters"]
    assert crumbs(of_letter) == [*above, f"Letter {letter.pk} of catalog"]
    assert crumbs(of_decision)[:3] == above


def test_where_a_requeue_cannot_help_the_discard_comes_first(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    sound, unreadable = died(facts.published("article-107")), died(b"\xff\xfe")
    overtaken = died(facts.published("article-108"))
    InboxReceipt.objects.create(
        consumer="catalog",
        event_id=uuid4(),
        type="material.published",
        material_id="article-108",
        revision=9,
        fingerprint=bytes(32),
        content_fingerprint=bytes(32),
    )

    def acts(letter: DeadLetter) -> list[str]:
        page = client.get(letter_url(letter.pk)).content.decode()
        found = re.findall(
            r'class="button (default|grave)?\s*"[^>]*>(Requeue|Discard) letter', page
        )
        return [f"{verb} {kind}".strip() for kind, verb in found]

    assert acts(sound) == ["Requeue default", "Discard grave"]
    assert acts(unreadable) == acts(overtaken) == ["Discard default", "Requeue"]
    DeadLetter.objects.filter(pk=sound.pk).update(consumer="no more")
    assert acts(sound) == ["Discard default"]


def test_a_dry_run_that_is_looked_at_again_leads_back_to_its_letter(sign_in: SignIn) -> None:
    letter = died(facts.published("article-107"))
    client = sign_in(*ALL_RIGHTS)

    answer = client.get(letter_url(letter.pk, "dry-run"))

    assert (answer.status_code, answer["Location"]) == (302, letter_url(letter.pk))
