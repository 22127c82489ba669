"""The delivery records in the admin: to look at, inert, quick; one verb with its own right."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from messaging.letters import dead_letters
from messaging.models import (
    FailedAttempt,
    InboxReceipt,
    OperatorDecision,
    OutboxMessage,
    RelayLease,
)
from messaging.operating.decision_log import Operator
from messaging.read_only_admin import PREVIEW_BYTES, CappedPaginator, preview
from tests.messaging import facts
from tests.messaging.dead import died

SCRIPT = "<script>alert(1)</script></pre><img src=x onerror=alert(2)>"
EVIL = f"\u202e{SCRIPT}\x00\x1b[31m"
PAGES = ("outboxmessage", "inboxreceipt", "failedattempt", "relaylease")

pytestmark = pytest.mark.django_db


def parked(**fields: Any) -> OutboxMessage:
    values = {
        "event_id": uuid4(),
        "type": "material.published",
        "material_id": "article-107",
        "revision": 1,
        "body": b'{"title": "\xff\x00' + SCRIPT.encode() + b'"}',
        "state": OutboxMessage.State.FAILED,
        "attempts": 8,
        "last_error": SCRIPT,
    }
    return OutboxMessage.objects.create(**{**values, **fields})


def receipt(**fields: Any) -> InboxReceipt:
    values = {
        "consumer": "catalog",
        "event_id": uuid4(),
        "type": "material.published",
        "material_id": "article-107",
        "revision": 1,
        "fingerprint": bytes(range(32)),
        "content_fingerprint": bytes(32),
    }
    return InboxReceipt.objects.create(**{**values, **fields})


def failed_attempt(**fields: Any) -> FailedAttempt:
    values = {
        "consumer": "catalog",
        "event_id": uuid4(),
        "type": "material.published",
        "material_id": "article-107",
        "revision": 1,
        "attempt": 0,
        "transient": True,
        "error_class": "LockTimeout",
        "error_text": SCRIPT,
        "traceback": f"  File x\n{SCRIPT}",
    }
    return FailedAttempt.objects.create(**{**values, **fields})


@pytest.fixture
def staff(client: Client) -> Callable[..., Client]:
    """Sign in as staff with these permissions of the messaging app."""

    def sign_in(*permissions: str) -> Client:
        user = User.objects.create_user(f"user-{uuid4().hex[:8]}", is_staff=True)
        user.user_permissions.set(
            Permission.objects.filter(content_type__app_label="messaging", codename__in=permissions)
        )
        assert user.user_permissions.count() == len(permissions)
        client.force_login(user)
        return client

    return sign_in


def path(model: str, *rest: object) -> str:
    return "/admin/messaging/" + "".join(f"{part}/" for part in (model, *rest))


@pytest.mark.parametrize("model", PAGES)
def test_without_the_view_permission_there_is_nothing(
    staff: Callable[..., Client], model: str
) -> None:
    assert staff().get(path(model)).status_code == 403


@pytest.mark.parametrize("model", PAGES)
def test_with_it_the_list_opens_and_nothing_can_be_added(
    staff: Callable[..., Client], model: str
) -> None:
    client = staff(f"view_{model}")

    assert client.get(path(model)).status_code == 200
    assert client.get(path(model, "add")).status_code == 403


@pytest.mark.parametrize("model", PAGES)
def test_no_permission_allows_adding_changing_or_deleting(
    staff: Callable[..., Client], model: str
) -> None:
    row = {
        "outboxmessage": parked,
        "inboxreceipt": receipt,
        "failedattempt": failed_attempt,
        "relaylease": lambda: RelayLease.objects.create(name="x"),
    }[model]()
    client = staff(f"view_{model}", f"add_{model}", f"change_{model}", f"delete_{model}")

    assert client.get(path(model, "add")).status_code == 403
    assert client.post(path(model, row.pk, "change"), {"material_id": "other"}).status_code == 403
    assert client.post(path(model, row.pk, "delete"), {"post": "yes"}).status_code == 403
    client.post(
        path(model),
        {"action": "delete_selected", "_selected_action": row.pk, "post": "yes", "index": 0},
    )

    assert type(row).objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    ("model", "make"),
    [("outboxmessage", parked), ("inboxreceipt", receipt), ("failedattempt", failed_attempt)],
)
def test_what_a_row_holds_stays_text(
    staff: Callable[..., Client], model: str, make: Callable[..., Any]
) -> None:
    row = make(material_id=SCRIPT, type=SCRIPT)
    client = staff(f"view_{model}")

    for response in (client.get(path(model)), client.get(path(model, row.pk, "change"))):
        page = response.content.decode()
        assert response.status_code == 200
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("model", "make", "texts"),
    [
        ("outboxmessage", parked, {"last_error": "a\u202eb"}),
        ("failedattempt", failed_attempt, {"error_class": "a\u202eb", "error_text": "a\u202eb"}),
    ],
)
def test_what_somebody_else_said_turns_no_reading_direction(
    staff: Callable[..., Client], model: str, make: Callable[..., Any], texts: dict[str, str]
) -> None:
    row = make(**texts)
    client = staff(f"view_{model}")

    for response in (client.get(path(model)), client.get(path(model, row.pk, "change"))):
        page = response.content.decode()
        assert "\u202e" not in page
        assert page.count(r"a\u202eb") >= len(texts)


def test_a_body_is_shown_whatever_bytes_it_has(staff: Callable[..., Client]) -> None:
    row = parked(body=b"\xff\x00\xed\xa0\xbd" + EVIL.encode() + "Привет\n".encode())

    client = staff("view_outboxmessage", "view_payload")
    page = client.get(path("outboxmessage", row.pk, "change")).content.decode()

    assert r"\xff\x00\xed\xa0\xbd\u202e&lt;script&gt;" in page
    assert r"\x1b[31mПривет" in page
    assert "\u202e" not in page


def test_a_large_body_is_shown_in_part(staff: Callable[..., Client]) -> None:
    row = parked(body=b"x" * 262_144)

    client = staff("view_outboxmessage", "view_payload")
    page = client.get(path("outboxmessage", row.pk, "change")).content.decode()

    assert "x" * PREVIEW_BYTES in page
    assert f"… and {262_144 - PREVIEW_BYTES} bytes more" in page
    assert len(page) < 3 * PREVIEW_BYTES


def test_a_preview_cut_within_a_letter_is_still_text() -> None:
    assert "я" in preview(b"x" * (PREVIEW_BYTES - 3) + "яяя".encode())


def test_the_list_reads_no_bodies(staff: Callable[..., Client]) -> None:
    parked()
    client = staff("view_outboxmessage", "retry_outboxmessage")

    with CaptureQueriesContext(connection) as queries:
        client.get(path("outboxmessage"))

    selects = [query["sql"] for query in queries if "messaging_outboxmessage" in query["sql"]]
    assert selects
    assert not [sql for sql in selects if '"body"' in sql]


@pytest.mark.parametrize("model", PAGES[:3])
def test_no_list_counts_a_whole_table(staff: Callable[..., Client], model: str) -> None:
    client = staff(f"view_{model}")

    with CaptureQueriesContext(connection) as queries:
        client.get(path(model), {"q": "article-107"})
        client.get(path(model))

    on_table = [query["sql"] for query in queries if f'FROM "messaging_{model}"' in query["sql"]]
    counting = [sql for sql in on_table if "COUNT(" in sql]
    assert len(counting) == 2
    assert all(f"LIMIT {CappedPaginator.MOST}" in sql for sql in counting)
    assert not [sql for sql in on_table if "DISTINCT" in sql]


def test_counting_ends_at_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CappedPaginator, "MOST", 3)
    for _ in range(5):
        receipt(material_id=uuid4().hex)

    assert CappedPaginator(InboxReceipt.objects.all(), 2).count == 3
    assert CappedPaginator(list(range(5)), 2).count == 3


@pytest.mark.parametrize(
    ("model", "make"),
    [("outboxmessage", parked), ("inboxreceipt", receipt), ("failedattempt", failed_attempt)],
)
def test_rows_are_found_by_event_and_by_material(
    staff: Callable[..., Client], model: str, make: Callable[..., Any]
) -> None:
    wanted = make(material_id="wanted-1")
    make(material_id="wanted-10")
    client = staff(f"view_{model}")

    for term in ("wanted-1", str(wanted.event_id), str(wanted.event_id).upper(), " wanted-1 "):
        rows = client.get(path(model), {"q": term}).context["cl"].queryset
        assert [row.pk for row in rows] == [wanted.pk], term


def test_rows_are_found_by_an_id_whoever_wrote_them(staff: Callable[..., Client]) -> None:
    first = receipt()
    again = receipt(consumer="no more", names_revision=False)
    attempt = failed_attempt(consumer="no more")
    fact = parked()
    sent_again = parked(event_id=fact.event_id, consumer="catalog")
    client = staff("view_inboxreceipt", "view_failedattempt", "view_outboxmessage")

    def found(model: str, term: object) -> list[int]:
        rows = client.get(path(model), {"q": str(term)}).context["cl"].queryset
        return [row.pk for row in rows]

    assert found("inboxreceipt", "article-107") == [again.pk, first.pk]
    assert found("inboxreceipt", again.event_id) == [again.pk]
    assert found("failedattempt", attempt.event_id) == [attempt.pk]
    assert found("outboxmessage", fact.event_id) == [sent_again.pk, fact.pk]


@pytest.mark.parametrize(
    ("model", "make", "query"),
    [
        ("outboxmessage", parked, {"type": "material.published"}),
        ("outboxmessage", parked, {"state__exact": "failed", "type": "material.published"}),
        ("inboxreceipt", receipt, {"outcome__exact": "applied"}),
        ("failedattempt", failed_attempt, {"kind": "transient"}),
    ],
)
def test_what_no_index_serves_is_looked_for_among_the_newest_rows(
    staff: Callable[..., Client],
    model: str,
    make: Callable[..., Any],
    query: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [make(material_id=f"article-{number}") for number in range(4)]
    client = staff(f"view_{model}")
    said = "Looked for among the newest 2 rows"
    model_admin = admin.site.get_model_admin(type(rows[0]))
    all_of_few = client.get(path(model), query)
    monkeypatch.setattr(type(model_admin), "NEWEST", 2)

    filtered = client.get(path(model), query)
    everything = client.get(path(model))
    by_id = client.get(path(model), {**query, "q": "article-0"})

    def shown(response: Any) -> list[int]:
        return [row.pk for row in response.context["cl"].queryset]

    assert shown(all_of_few) == shown(everything) == [row.pk for row in reversed(rows)]
    assert shown(filtered) == [rows[3].pk, rows[2].pk]
    assert shown(by_id) == [rows[0].pk]
    assert [said in each.content.decode() for each in (filtered, everything, by_id)] == [
        *(True, False, False)
    ]


def test_parked_rows_are_found_however_old(
    staff: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin.site.get_model_admin(OutboxMessage), "NEWEST", 2)
    rows = [parked() for _ in range(4)]

    page = staff("view_outboxmessage").get(path("outboxmessage"), {"state__exact": "failed"})

    assert len(page.context["cl"].queryset) == len(rows)


@pytest.mark.parametrize("term", ["nothing", "%27;--", "%ED%A0%BD", "{}", "%25", "\u202e"])
def test_an_odd_search_finds_nothing(staff: Callable[..., Client], term: str) -> None:
    parked()

    response = staff("view_outboxmessage").get(path("outboxmessage") + f"?q={term}")

    assert response.status_code == 200
    assert list(response.context["cl"].queryset) == []


def test_a_search_for_what_no_database_stores_is_refused_in_words(
    staff: Callable[..., Client],
) -> None:
    response = staff("view_outboxmessage").get(path("outboxmessage") + "?q=a%00b")

    assert response.status_code == 200
    assert "Null characters are not allowed" in response.content.decode()


def test_filters_offer_the_names_that_the_code_knows(staff: Callable[..., Client]) -> None:
    receipt()
    receipt(consumer="audit")
    client = staff("view_inboxreceipt")

    page = client.get(path("inboxreceipt")).content.decode()
    filtered = client.get(path("inboxreceipt"), {"consumer": "audit"}).context["cl"].queryset
    by_type = client.get(path("inboxreceipt"), {"type": "material.withdrawn"})

    assert "?consumer=audit" in page
    assert "?type=material.published" in page
    assert [row.consumer for row in filtered] == ["audit"]
    assert list(by_type.context["cl"].queryset) == []
    unknown = client.get(path("inboxreceipt"), {"consumer": "nobody"}).context["cl"].queryset
    assert unknown.query.is_empty()


def try_again(client: Client, *rows: OutboxMessage, everything: bool = False) -> Any:
    return client.post(
        path("outboxmessage"),
        {
            "action": "try_again",
            "_selected_action": [row.pk for row in rows],
            "select_across": "1" if everything else "0",
            "index": "0",
        },
        follow=True,
    )


def test_a_failed_row_is_tried_again_by_whoever_may(staff: Callable[..., Client]) -> None:
    row, other = parked(), parked()
    sent = parked(state=OutboxMessage.State.SENT)
    client = staff("view_outboxmessage", "retry_outboxmessage")

    response = try_again(client, row, sent)

    row.refresh_from_db()
    other.refresh_from_db()
    sent.refresh_from_db()
    assert (row.state, row.attempts) == ("pending", 0)
    assert other.state == "failed"
    assert sent.state == "sent"
    assert "1 failed message will be tried again." in response.content.decode()
    [entry] = LogEntry.objects.all()
    assert (entry.object_id, entry.change_message) == (str(row.pk), "Try again")


def test_all_failed_rows_of_a_filter_are_tried_again_at_once(
    staff: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.console.outbox.HISTORY_LINES_AT_ONCE", 10)
    rows = [parked() for _ in range(25)]
    client = staff("view_outboxmessage", "retry_outboxmessage")

    with CaptureQueriesContext(connection) as seen:
        try_again(client, rows[0], everything=True)

    assert OutboxMessage.objects.pending().count() == 25
    written = [each for each in seen.captured_queries if "INSERT" in each["sql"]]
    assert len([each for each in written if "django_admin_log" in each["sql"]]) == 3
    histories = LogEntry.objects.values_list("object_id", flat=True)
    assert sorted(histories) == sorted(str(row.pk) for row in rows)


def test_without_its_permission_the_verb_is_neither_shown_nor_done(
    staff: Callable[..., Client],
) -> None:
    row = parked()
    client = staff("view_outboxmessage", "change_outboxmessage")

    page = client.get(path("outboxmessage")).content.decode()
    try_again(client, row)

    row.refresh_from_db()
    assert "try_again" not in page
    assert row.state == "failed"


def test_a_post_without_a_token_is_refused(staff: Callable[..., Client]) -> None:
    row = parked()
    staff("view_outboxmessage", "retry_outboxmessage")
    user = User.objects.get()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user)

    assert try_again(strict, row).status_code == 403
    row.refresh_from_db()
    assert row.state == "failed"


def test_a_retry_of_parked_rows_is_in_the_decision_log(staff: Callable[..., Client]) -> None:
    row = parked()
    client = staff("view_outboxmessage", "retry_outboxmessage")

    client.post(
        "/admin/messaging/outboxmessage/",
        {"action": "try_again", "_selected_action": [str(row.pk)]},
    )

    line = OperatorDecision.objects.get()
    assert (line.action, line.detail) == ("retry_outbox", {"rows": [row.pk], "count": 1})


@pytest.mark.parametrize(
    ("make", "model", "secret"),
    [(parked, "outboxmessage", r"\xff"), (failed_attempt, "failedattempt", "File x")],
)
def test_what_may_quote_a_payload_is_for_those_who_may_see_it_and_each_look_is_logged(
    staff: Callable[..., Client], make: Callable[[], Any], model: str, secret: str
) -> None:
    row = make()
    address = path(model, row.pk, "change")

    blind = staff(f"view_{model}").get(address)
    unlogged = OperatorDecision.objects.exists()
    seen = staff(f"view_{model}", "view_payload").get(address)

    assert (blind.status_code, seen.status_code) == (200, 200)
    assert secret not in blind.content.decode()
    assert "has no right to see payloads" in blind.content.decode()
    assert not unlogged
    assert secret in seen.content.decode()
    assert OperatorDecision.objects.get().detail["row"] == row.pk


def test_the_copy_of_a_letter_in_the_outbox_points_to_the_letter(
    staff: Callable[..., Client],
) -> None:
    letter = died(facts.published(title="Hidden words"))
    dead_letters.requeue([letter.pk], operator=Operator("olga"))
    client = staff("view_outboxmessage", "view_payload")

    page = client.get(path("outboxmessage", OutboxMessage.objects.get().pk, "change"))

    assert "Hidden words" not in page.content.decode()
    assert f"/admin/messaging/deadletter/{letter.pk}/change/" in page.content.decode()


def test_chosen_ids_that_are_none_are_left_out(staff: Callable[..., Client]) -> None:
    row = parked()
    client = staff("view_outboxmessage", "retry_outboxmessage")

    for ids in (["abc"], ["9" * 30], ["-1", "\u0661", "abc", str(row.pk)]):
        response = client.post(
            path("outboxmessage"), {"action": "try_again", "_selected_action": ids, "index": 0}
        )
        assert response.status_code in (200, 302)

    assert OutboxMessage.objects.get().state == "pending"


def test_a_list_has_one_cell_for_a_fact_and_a_short_id_that_finds_its_rows(
    staff: Callable[..., Client],
) -> None:
    client = staff("view_failedattempt", "view_deadletter")
    attempt = failed_attempt(attempt=3, error_text="x" * 500)
    failed_attempt(material_id="article-108")

    page = client.get(path("failedattempt")).content.decode()

    assert "material.published article-107 r1</td>" in page
    assert f'href="?q={attempt.event_id}" title="{attempt.event_id}"' in page
    assert f"…{attempt.event_id.hex[-12:]}</a>" in page
    assert '<td data-name="Attempt" class="field-try_number">4</td>' in page
    assert f"<b>LockTimeout</b> {'x' * 159}…</td>" in page
    assert f"{attempt.failed_at:%Y-%m-%d %H:%M:%S}</td>" in page
    found = client.get(path("failedattempt"), {"q": str(attempt.event_id)})
    assert [row.pk for row in found.context["cl"].result_list] == [attempt.pk]
    assert 'aria-current="page">Failed attempts</a>' in page
