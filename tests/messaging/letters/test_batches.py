"""Large actions as the process behind them sees them: log, rights, and what fails each time."""

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import OperationalError, connection

from messaging.letters import batch_runner, batches, pieces
from messaging.letters.search import Selection
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision
from messaging.operating.decision_log import Operator
from tests.messaging import facts
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

committed = pytest.mark.django_db(transaction=True)

OLGA = Operator("olga", None, "192.0.2.1")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 2)
    monkeypatch.setattr(pieces, "STRETCH", 3)
    monkeypatch.setattr(batches, "WALK_SECONDS", 0)
    monkeypatch.setattr(batch_runner, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr("messaging.running.process.FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("messaging.running.process.LONGEST_PAUSE_SECONDS", 0.01)


def letters(material: str, number: int) -> list[DeadLetter]:
    return [died(facts.published(material, revision)) for revision in range(1, number + 1)]


def discard(material: str = "", *, operator: Operator = OLGA, **options: Any) -> OperatorBatch:
    wanted = Selection(material=material)
    return batches.begin("discard", wanted, operator=operator, note="old", **options)


def lines() -> list[tuple[Any, ...]]:
    told = OperatorDecision.objects.order_by("pk").filter(letter=None)
    return list(told.values_list("action", "operator", "source_ip", "note", "batch", "user"))


def test_beginning_and_cancelling_are_in_the_log_with_who_from_where_and_why() -> None:
    boris = User.objects.create_user("boris")
    batch = discard("nothing-of-it")

    by = Operator("boris", boris.pk, "192.0.2.7")
    assert batches.cancel(batch.pk, operator=by, note="wrong ones")
    assert not batches.cancel(batch.pk, operator=by)

    assert lines() == [
        ("begin_batch", "olga", "192.0.2.1", "old", batch.pk, None),
        ("cancel_batch", "boris", "192.0.2.7", "wrong ones", batch.pk, boris.pk),
    ]
    assert OperatorDecision.objects.last().detail == {"action": "discard", "letters": 0}  # type: ignore[union-attr]


def test_letters_far_apart_are_found_stretch_by_stretch() -> None:
    letters("article-1", 2)
    letters("article-2", 10)
    last = letters("article-1", 2)[-1]
    batch = discard("article-1")

    steps = 0
    while batches.carry_on(batch.pk):
        steps += 1

    batch.refresh_from_db()
    assert (batch.matched, batch.done, batch.last_done_id) == (4, 4, last.pk)
    assert steps > 3, "each of a bounded number of letters"
    assert DeadLetter.objects.filter(state="discarded").count() == 4


@committed
def test_one_that_fails_each_time_is_given_up_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    letters("article-1", 3)
    letters("article-2", 3)
    bad, good = discard("article-1"), discard("article-2")
    carry_on = batches.carry_on

    def carry_on_but_for_the_bad(batch_id: int, **options: Any) -> bool:
        if batch_id == bad.pk:
            raise OperationalError("too slow: postgres://u:SECRET@h/")
        return carry_on(batch_id, **options)

    monkeypatch.setattr(batches, "carry_on", carry_on_but_for_the_bad)

    with pytest.raises(SystemExit) as ended:
        call_command("carry_out_batches", "--once")

    assert ended.value.code == 1
    for batch in (bad, good):
        batch.refresh_from_db()
    assert (good.done, good.ended_because) == (3, "")
    assert bad.finished_at is not None
    assert bad.ended_because.startswith("given up after 10 tries: ")
    assert "SECRET" not in bad.ended_because
    assert lines()[-1][:2] == ("cancel_batch", "delivery")
    assert DeadLetter.objects.open().count() == 3


@committed
def test_while_the_store_cannot_take_a_piece_no_batch_pays_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    letters("article-1", 3)
    letters("article-2", 3)
    waiting, good = discard("article-1"), discard("article-2")
    carry_on, refused = batches.carry_on, list[bool]()

    def read_only_for_a_while(batch_id: int, **options: Any) -> bool:
        good.refresh_from_db()
        if batch_id == waiting.pk and (good.finished_at is None or len(refused) < 15):
            refused.append(True)
            raise OperationalError from psycopg.errors.ReadOnlySqlTransaction()
        return carry_on(batch_id, **options)

    monkeypatch.setattr(batches, "carry_on", read_only_for_a_while)

    call_command("carry_out_batches", "--once")

    waiting.refresh_from_db()
    assert (waiting.done, waiting.ended_because) == (3, "")
    assert len(refused) >= 15


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"is_active": False}, "the account of olga was closed"),
        ({"is_staff": False}, "the account of olga was closed"),
        (None, "the account of olga was closed"),
        ({}, "olga has lost the right to discard letters"),
    ],
    ids=["deactivated", "no staff any longer", "deleted", "demoted"],
)
def test_whoever_may_not_decide_any_longer_does_not_by_what_they_began(
    change: dict[str, bool] | None, why: str
) -> None:
    olga = User.objects.create_user("olga", is_staff=True)
    olga.user_permissions.set(Permission.objects.filter(codename="discard_deadletter"))
    letters("article-1", 4)
    batch = discard("article-1", operator=Operator("olga", olga.pk, "192.0.2.1"))
    assert batches.carry_on(batch.pk)

    if change is None:
        olga.delete()
    elif change:
        User.objects.update(**change)
    else:
        olga.user_permissions.clear()

    assert not batches.carry_on(batch.pk)
    batch.refresh_from_db()
    assert (batch.done, batch.ended_because) == (2, why)
    assert batches.pending() == []


@committed
def test_a_batch_that_another_process_is_at_is_passed_by() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    from django.db import transaction

    from tests.messaging.at_once import at_once

    letters("article-1", 1)
    batch = discard("article-1")
    with transaction.atomic():
        OperatorBatch.objects.select_for_update().get(pk=batch.pk)

        assert at_once(lambda: batches.carry_on(batch.pk)) == [False]
    assert batches.carry_on(batch.pk)
