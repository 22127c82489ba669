"""Large actions: carried out piece by piece, seen, cancelled, and going on after a crash."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from messaging.console import deciding
from messaging.errors import TransientError
from messaging.letters import batches, pieces
from messaging.letters.search import Selection
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator
from tests.messaging import facts
from tests.messaging.console_pages import ALL_RIGHTS, SignIn, decision_url
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

OLGA = Operator("olga", None, "192.0.2.1")
PIECE = 3


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_LETTERS", PIECE)
    monkeypatch.setattr(deciding, "MOST_IN_A_REQUEST", 5)


@pytest.fixture
def letters() -> list[DeadLetter]:
    return [died(facts.published("article-107", revision)) for revision in range(1, 9)]


def begin(verb: str = "requeue", **options: object) -> OperatorBatch:
    return batches.begin(verb, Selection(), operator=OLGA, **options)  # type: ignore[arg-type]


def test_a_piece_is_letters_log_and_progress_together(letters: list[DeadLetter]) -> None:
    batch = begin(note="the lock is gone")

    assert batches.carry_on(batch.pk)

    batch.refresh_from_db()
    assert (batch.matched, batch.done, batch.refused) == (8, PIECE, 0)
    assert batch.last_done_id == letters[PIECE - 1].pk
    assert DeadLetter.objects.requeued().count() == OutboxMessage.objects.count() == PIECE
    lines = OperatorDecision.objects.values_list("operator", "note", "source_ip", "batch")
    assert set(lines) == {("olga", "the lock is gone", "192.0.2.1", batch.pk)}


@pytest.mark.django_db(transaction=True)
def test_a_crash_in_a_piece_costs_nothing_and_the_next_process_goes_on(
    letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = begin()
    batches.carry_on(batch.pk)

    class Killed(BaseException):
        """Nothing of ours catches it, as nothing catches SIGKILL."""

    def crash(*_args: object, **_options: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("messaging.letters.redrives.wake_relay", crash)
        with pytest.raises(Killed):
            batches.carry_on(batch.pk)
    assert OutboxMessage.objects.count() == PIECE

    call_command("carry_out_batches", "--once")

    batch.refresh_from_db()
    assert batch.finished_at is not None
    assert (batch.done, batch.refused) == (8, 0)
    assert OutboxMessage.objects.count() == 8
    assert OperatorDecision.objects.filter(action="requeue").count() == 8


@pytest.mark.django_db(transaction=True)
def test_letters_that_come_later_and_those_refused_are_not_done(
    letters: list[DeadLetter],
) -> None:
    bad = died(b"[]", reason="MalformedEvent", attempt=0)
    batch = begin()
    late = died(facts.published("article-108"))

    call_command("carry_out_batches", "--once")

    batch.refresh_from_db()
    assert (batch.matched, batch.done, batch.refused) == (9, 8, 1)
    assert [letter_id for letter_id, _why in batch.refusals] == [bad.pk]
    assert set(DeadLetter.objects.open().values_list("pk", flat=True)) == {bad.pk, late.pk}


def test_filters_are_kept_with_the_decision(letters: list[DeadLetter]) -> None:
    since = datetime.fromtimestamp(int(time.time()) + 60, UTC)
    wanted = Selection(consumer="audit", text="A title", since=since, search_payload=False)
    batch = batches.begin("discard", wanted, operator=OLGA, note="old")

    kept = OperatorBatch.objects.get(pk=batch.pk).filters

    assert kept["errors_only"] == "yes"
    restored = Selection.from_json(
        {name: value for name, value in kept.items() if name != "errors_only"},
        search_payload=False,
    )
    assert restored == wanted


def test_a_cancelled_batch_leaves_the_rest(letters: list[DeadLetter]) -> None:
    batch = begin()
    batches.carry_on(batch.pk)

    assert batches.cancel(batch.pk, operator=Operator("otto"))

    assert not batches.carry_on(batch.pk)
    assert not batches.cancel(batch.pk, operator=Operator("otto"))
    assert DeadLetter.objects.open().count() == 8 - PIECE


def test_a_discard_of_many_wants_a_reason() -> None:
    with pytest.raises(ValueError, match="discard"):
        begin("discard", note=" ")


def test_many_in_the_console_become_a_batch_that_tells_how_far_it_is(
    sign_in: SignIn, letters: list[DeadLetter]
) -> None:
    client: Client = sign_in(*ALL_RIGHTS, "view_operatorbatch", name="olga")

    asked = client.get(decision_url("discard", all="1"))
    assert "in the background" in asked.content.decode()
    answer = client.post(decision_url("discard", all="1"), {"note": "old"})

    batch = OperatorBatch.objects.get()
    assert answer["Location"] == f"/admin/messaging/operatorbatch/{batch.pk}/change/"
    assert "waits to begin" in client.get(answer["Location"]).content.decode()
    batches.carry_on(batch.pk)
    page = client.get(answer["Location"]).content.decode()
    assert "3 of 8" in page
    assert "letters a second" in page
    assert client.get("/admin/messaging/operatorbatch/").status_code == 200

    client.post(f"/admin/messaging/operatorbatch/{batch.pk}/cancel/")
    assert "cancelled" in client.get(answer["Location"]).content.decode()
    assert DeadLetter.objects.filter(state="discarded").count() == PIECE


def test_nobody_cancels_what_they_could_not_have_decided(
    sign_in: SignIn, letters: list[DeadLetter]
) -> None:
    batch = begin()
    client = sign_in("view_deadletter", "discard_deadletter")

    refused = client.post(f"/admin/messaging/operatorbatch/{batch.pk}/cancel/")

    assert refused.status_code == 403
    assert batches.pending() == [batch.pk]


def test_few_are_done_at_once(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    died(facts.published())

    client.post(decision_url("requeue", all="1"))

    assert not OperatorBatch.objects.exists()
    assert DeadLetter.objects.requeued().count() == 1


def test_why_one_was_given_up_stands_on_its_page(
    sign_in: SignIn, letters: list[DeadLetter]
) -> None:
    batch = begin()
    batches.give_up(batch.pk, because="olga has lost the right\u202e")

    page = sign_in("view_deadletter").get(f"/admin/messaging/operatorbatch/{batch.pk}/change/")

    assert "given up" in page.content.decode()
    assert r"(olga has lost the right\u202e)" in page.content.decode()


@pytest.mark.parametrize("verb", ["begin", "cancel"])
def test_a_busy_database_is_told_and_is_no_error(
    sign_in: SignIn, letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise TransientError("The database is busy.")

    client = sign_in(*ALL_RIGHTS, "view_operatorbatch")
    batch = begin()
    monkeypatch.setattr(batches, verb, busy)

    if verb == "cancel":
        url = f"/admin/messaging/operatorbatch/{batch.pk}/cancel/"
        answer = client.post(url, follow=True)
    else:
        answer = client.post(decision_url("discard", all="1"), {"note": "old"})

    assert answer.status_code < 500
    assert "The database is busy." in answer.content.decode()


def test_a_large_action_is_told_in_the_readers_language(
    sign_in: SignIn, letters: list[DeadLetter]
) -> None:
    client = sign_in("view_deadletter", "view_operatorbatch")
    batch = batches.begin(
        "discard", Selection(consumer="catalog"), operator=OLGA, note="test", only_superseded=True
    )
    ended = batch.created_at + timedelta(milliseconds=382)
    OperatorBatch.objects.update(started_at=batch.created_at, finished_at=ended)

    url = reverse("admin:messaging_operatorbatch_change", args=[batch.pk])
    page = client.get(url, headers={"accept-language": "ru"}).content.decode()

    assert "«test»" in page
    assert "состояние: Открыто, получатель: catalog, " in page
    assert "всего 382 мс" in page
