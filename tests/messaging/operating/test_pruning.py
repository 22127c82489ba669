"""Cleaning up: what was settled long ago goes, and nothing that could still be needed."""

import io
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from materials.audit.models import AuditRecord
from messaging import registry
from messaging.broker.inspection import QueueDepth
from messaging.broker.sessions import topology
from messaging.errors import BrokerUnavailable
from messaging.handling import inbox
from messaging.letters import dead_letters
from messaging.letters.corrections import correct
from messaging.models import (
    DeadLetter,
    Death,
    FailedAttempt,
    InboxReceipt,
    OperatorBatch,
    OperatorDecision,
    OutboxMessage,
)
from messaging.operating import pruning
from messaging.operating.decision_log import Operator
from messaging.operating.pruning import Pruning, older
from tests.messaging.dead import died
from tests.messaging.facts import published

OLGA = Operator("olga")
NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=100)

one_transaction = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)

COMMAND = "messaging.management.commands.prune_delivery"


@pytest.fixture(autouse=True)
def depths(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, QueueDepth | None]:
    """What the broker says: nothing waits, unless a test has it otherwise."""
    settings.DELIVERY_NAMESPACE = "unset"
    monkeypatch.setattr(pruning, "SHORTEST_PAUSE_SECONDS", 0)
    found: dict[str, QueueDepth | None] = dict.fromkeys(topology().queue_names(), QueueDepth(0, 0))
    monkeypatch.setattr(f"{COMMAND}.inspect_queues", lambda *_, **__: found)
    return found


class Said:
    def __init__(self, *options: str, days: int = 30) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code = 0
        try:
            call_command(
                "prune_delivery", "--older-than", str(days), *options, stdout=out, stderr=err
            )
        except SystemExit as error:
            self.code = int(error.code or 0)
        self.out, self.err = out.getvalue(), err.getvalue()


def of_long_ago(letter: DeadLetter, state: str | None = None) -> DeadLetter:
    changes: dict[str, Any] = {"changed_at": LONG_AGO, "first_died_at": LONG_AGO}
    changes |= {"died_at": LONG_AGO} | ({"state": state} if state else {})
    DeadLetter.objects.filter(pk=letter.pk).update(**changes)
    letter.refresh_from_db()
    return letter


def handled(*events: Any, at: datetime = LONG_AGO, consumer: str = "audit") -> None:
    inbox.handle(registry.consumer(consumer), events)
    ids = [event.event_id for event in events]
    InboxReceipt.objects.filter(consumer=consumer, event_id__in=ids).update(handled_at=at)


@one_transaction
def test_only_letters_settled_long_ago_go_with_all_that_tells_of_them() -> None:
    gone = [died(published("article-1")), died(published("article-2"))]
    dead_letters.requeue([gone[0].pk], operator=OLGA)
    dead_letters.discard([gone[1].pk], operator=OLGA, reason="no")
    of_long_ago(gone[0], "resolved")
    of_long_ago(gone[1])
    young = died(published("article-3"))
    dead_letters.discard([young.pk], operator=OLGA, reason="no")
    open_letter = of_long_ago(died(published("article-4")))
    requeued = of_long_ago(died(published("article-5")), "requeued")
    row = OutboxMessage.objects.get()

    said = Said()

    assert (said.code, "letters: 2 deleted" in said.out) == (0, True)
    left = {young.pk, open_letter.pk, requeued.pk}
    assert set(DeadLetter.objects.values_list("pk", flat=True)) == left
    assert set(Death.objects.values_list("letter_id", flat=True)) == left
    assert OperatorDecision.objects.get().letter_id == young.pk
    row.refresh_from_db()
    assert row.letter_id is None


@one_transaction
def test_a_letter_with_corrections_goes_too() -> None:
    letter = died(b"\xff", reason="MalformedEvent")
    correct(letter.pk, published().body, operator=OLGA)
    of_long_ago(letter, "resolved")

    assert Said().code == 0

    assert not DeadLetter.objects.exists()


@one_transaction
def test_sent_rows_of_long_ago_go_unless_their_letter_is_not_settled() -> None:
    def row(state: str, *, at: datetime = LONG_AGO, **more: Any) -> OutboxMessage:
        event = published(f"article-{uuid.uuid4().hex[:8]}")
        made = OutboxMessage.objects.create(
            event_id=event.event_id,
            type=event.type,
            material_id=event.material_id,
            revision=1,
            body=event.body,
            state=state,
            **more,
        )
        OutboxMessage.objects.filter(pk=made.pk).update(created_at=at, sent_at=at)
        return made

    on_its_way = of_long_ago(died(published()), "requeued")
    row("sent")
    kept = [
        row("pending"),
        row("failed"),
        row("sent", at=NOW),
        row("sent", letter=on_its_way, consumer="catalog"),
    ]

    said = Said()

    assert "outbox rows: 1 deleted" in said.out
    assert set(OutboxMessage.objects.all()) == set(kept)


@one_transaction
def test_failed_attempts_go_unless_a_letter_is_about_their_event() -> None:
    told = published()
    of_long_ago(died(told))
    for event_id, consumer, at in (
        (uuid.uuid4(), "catalog", LONG_AGO),
        (uuid.uuid4(), "catalog", NOW),
        (told.event_id, "catalog", LONG_AGO),
        (told.event_id, "audit", LONG_AGO),
    ):
        made = FailedAttempt.objects.create(
            consumer=consumer,
            event_id=event_id,
            material_id="m",
            revision=1,
            type="t",
            attempt=0,
            transient=True,
            error_class="X",
        )
        FailedAttempt.objects.filter(pk=made.pk).update(failed_at=at)

    said = Said()

    assert "failed attempts: 2 deleted" in said.out
    kept = FailedAttempt.objects.values_list("consumer", "failed_at__year")
    assert sorted(kept) == sorted([("catalog", NOW.year), ("catalog", LONG_AGO.year)])


@one_transaction
def test_the_budget_of_a_fact_that_may_wait_to_be_retried_stays(settings: Any) -> None:
    settings.DELIVERY_RETRY_DELAY_MS = 49 * 24 * 3600 * 1000
    fact = published()
    FailedAttempt.objects.create(
        consumer="catalog",
        event_id=fact.event_id,
        material_id=fact.material_id,
        revision=1,
        type=fact.type,
        attempt=0,
        transient=True,
        error_class="X",
    )
    FailedAttempt.objects.update(failed_at=NOW - timedelta(days=40))

    said = Said()

    assert "nothing deleted" in said.out
    assert FailedAttempt.objects.count() == 1


@one_transaction
def test_receipts_of_long_ago_go_and_the_audit_stays() -> None:
    handled(published("article-1"), published("article-2"))
    handled(published("article-3"), at=NOW)

    said = Said()

    assert "receipts: 2 deleted" in said.out
    assert InboxReceipt.objects.count() == 1
    assert AuditRecord.objects.count() == 3


@one_transaction
def test_receipts_younger_than_the_oldest_letter_stay_and_so_do_those_it_is_about() -> None:
    before, same, after = (published(f"article-{name}") for name in ("before", "same", "after"))
    handled(before, at=LONG_AGO - timedelta(days=2))
    sibling = published("article-same", 2)
    handled(same, sibling, at=LONG_AGO - timedelta(days=2))
    handled(after, at=LONG_AGO + timedelta(days=2))
    letter = of_long_ago(died(same, consumer="audit", reason="FactConflict"), "discarded")
    DeadLetter.objects.filter(pk=letter.pk).update(changed_at=NOW)

    said = Said()

    assert f"letter {letter.pk} is not resolved" in said.out
    kept = {str(row.event_id) for row in InboxReceipt.objects.all()}
    assert kept == {same.event_id, sibling.event_id, after.event_id}
    of_long_ago(letter, "resolved")
    Said()
    assert not InboxReceipt.objects.exists()


@one_transaction
def test_a_letter_of_another_consumer_holds_no_receipts_back() -> None:
    handled(published("article-1"))
    of_long_ago(died(published("article-2"), consumer="catalog"))

    assert "receipts: 1 deleted" in Said().out


@one_transaction
def test_an_unsent_row_and_a_long_retry_delay_hold_receipts_back(settings: Any) -> None:
    handled(published("article-1"), at=NOW - timedelta(days=40))
    row = OutboxMessage.objects.create(
        event_id=uuid.uuid4(), type="t", material_id="m", revision=1, body=b"{}", state="failed"
    )
    OutboxMessage.objects.filter(pk=row.pk).update(created_at=NOW - timedelta(days=50))

    assert f"outbox row {row.pk} is not sent" in Said().out
    row.delete()
    settings.DELIVERY_RETRY_DELAY_MS = 49 * 24 * 3600 * 1000
    assert "a retry may wait" in Said().out
    assert InboxReceipt.objects.count() == 1


@one_transaction
@pytest.mark.parametrize(
    ("queue", "depth", "why"),
    [
        ("unset.audit.dead", QueueDepth(ready=3, consumers=1), "3 letters wait in the dead queue"),
        ("unset.audit", QueueDepth(ready=2, consumers=0), "2 messages wait in its queue"),
        ("unset.audit", QueueDepth(ready=1, consumers=1), "1 messages wait in its queue"),
        ("unset.audit", QueueDepth(ready=0, consumers=0), ""),
        ("unset.catalog.dead", QueueDepth(ready=1, consumers=0), ""),
        ("unset.audit.retry", QueueDepth(ready=1, consumers=0), "1 copies wait in the retry queue"),
        ("unset.audit.retry", None, "queue unset.audit.retry is missing"),
        ("unset.audit.dead", None, "queue unset.audit.dead is missing"),
        ("unset.catalog.dead", None, ""),
    ],
)
def test_no_receipt_goes_while_copies_may_wait_in_its_queues(
    depths: dict[str, QueueDepth | None], queue: str, depth: QueueDepth | None, why: str
) -> None:
    handled(published())
    depths[queue] = depth

    said = Said()

    assert InboxReceipt.objects.count() == (1 if why else 0)
    assert why in said.err
    assert (said.code == 1) == ("refused" in said.err)


@one_transaction
def test_the_queues_are_looked_at_again_before_each_step(
    depths: dict[str, QueueDepth | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "ROWS_AT_ONCE", 2)
    handled(*(published(f"article-{number}") for number in range(5)))

    def a_copy_comes(run: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("DELETE") and "inboxreceipt" in sql:
            depths["unset.audit"] = QueueDepth(ready=1, consumers=1)
        return run(sql, *rest)

    with connection.execute_wrapper(a_copy_comes):
        said = Said()

    assert (said.code, InboxReceipt.objects.count()) == (1, 3)
    assert "receipts: 2 deleted" in said.out


@one_transaction
def test_without_the_broker_no_receipt_goes_and_all_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: object, **__: object) -> None:
        raise BrokerUnavailable("no connection")

    monkeypatch.setattr(f"{COMMAND}.inspect_queues", away)
    handled(published())
    of_long_ago(died(published()), "resolved")

    said = Said()

    assert said.code == 1
    assert "the broker does not say" in said.err
    assert (InboxReceipt.objects.count(), DeadLetter.objects.count()) == (1, 0)


@one_transaction
def test_a_dry_run_counts_and_deletes_nothing() -> None:
    assert Said("--dry-run").out == "nothing to delete\n"
    handled(published("article-1"))
    of_long_ago(died(published("article-2")), "resolved")

    said = Said("--dry-run")

    assert "letters: 1 to delete" in said.out
    assert "receipts: 1 to delete" in said.out
    assert (InboxReceipt.objects.count(), DeadLetter.objects.count()) == (1, 1)


@one_transaction
def test_a_letter_that_is_collected_after_the_first_look_keeps_its_receipt(
    depths: dict[str, QueueDepth | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    event = published()
    handled(event)

    def collected(*_: object, **__: object) -> dict[str, QueueDepth | None]:
        of_long_ago(died(event, consumer="audit"))
        return depths

    monkeypatch.setattr(f"{COMMAND}.inspect_queues", collected)

    Said()

    assert InboxReceipt.objects.count() == 1


@one_transaction
def test_no_step_has_more_rows_than_it_may_however_long_a_history_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pruning, "ROWS_AT_ONCE", 8)
    monkeypatch.setattr(pruning, "_FEW", 2)
    for number, looks in enumerate((2, 2, 2, 2, 2, 30)):
        letter = died(published(f"article-{number}"))
        dead_letters.discard([letter.pk], operator=OLGA, reason="no")
        OperatorDecision.objects.bulk_create(
            OperatorDecision(action="view_payload", operator="o", letter=letter)
            for _ in range(looks)
        )
        of_long_ago(letter)
    steps: list[int] = []
    in_one_transaction = pruning.in_one_transaction

    def counted(work: Any, **options: Any) -> Any:
        before = rows()
        done = in_one_transaction(work, **options)
        steps.append(before - rows())
        return done

    def rows() -> int:
        models = (DeadLetter, Death, OperatorDecision)
        return sum(model._default_manager.count() for model in models)

    monkeypatch.setattr(pruning, "in_one_transaction", counted)

    assert Said().code == 0

    assert rows() == 0
    assert max(steps) <= 8 + 2, "and the letters themselves"


@one_transaction
def test_a_batch_goes_when_its_last_line_has_gone() -> None:
    letter = died(published())
    for finished_at in (LONG_AGO, NOW):
        batch = OperatorBatch.objects.create(action="discard", operator="o")
        OperatorBatch.objects.filter(pk=batch.pk).update(
            finished_at=finished_at, created_at=LONG_AGO
        )
        OperatorDecision.objects.create(action="begin_batch", operator="o", batch=batch)
        dead_letters.discard([letter.pk], operator=OLGA, reason="no", batch=batch)
    of_long_ago(letter)

    Said()

    assert [batch.finished_at for batch in OperatorBatch.objects.all()] == [NOW]
    assert OperatorDecision.objects.get().batch == OperatorBatch.objects.get()


@one_transaction
@pytest.mark.parametrize(
    "days", ["0", "-1", "x", "1.5", "", "9" * 30, "0000000001999999999999", "36501"]
)
def test_days_are_a_positive_number(days: str) -> None:
    with pytest.raises(CommandError, match="whole number of days"):
        call_command("prune_delivery", "--older-than", days)


@one_transaction
def test_a_table_of_young_rows_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "_WINDOW", 10)
    monkeypatch.setattr(pruning, "ROWS_AT_ONCE", 4)
    handled(*(published(f"article-{number}") for number in range(25)))
    handled(*(published(f"young-{number}") for number in range(30)), at=NOW)
    reads: list[str] = []

    def counted(run: Any, sql: str, *rest: Any) -> Any:
        reads.append(sql)
        return run(sql, *rest)

    with connection.execute_wrapper(counted):
        pieces = list(older(InboxReceipt.objects.all(), "handled_at", NOW - timedelta(days=1)))

    assert [len(piece) for piece in pieces] == [4, 4, 2, 4, 4, 2, 4, 1]
    assert len(reads) == 4, "three windows with old rows in them, and one without"


@committed
def test_others_go_on_while_it_works() -> None:
    InboxReceipt.objects.bulk_create(
        InboxReceipt(
            consumer="audit",
            event_id=uuid.uuid4(),
            type="t",
            material_id=f"article-{number}",
            revision=1,
            fingerprint=b"f",
            content_fingerprint=b"c",
            handled_at=LONG_AGO,
        )
        for number in range(3_000)
    )
    longest = [0.0]
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            started = time.monotonic()
            inbox.handle(registry.consumer("audit"), [published(f"new-{uuid.uuid4().hex}")])
            longest[0] = max(longest[0], time.monotonic() - started)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        said = Said()
    finally:
        done.set()
        worker.join()

    assert "receipts: 3000 deleted" in said.out
    assert longest[0] < 2


@committed
def test_a_letter_that_opens_meanwhile_is_not_deleted() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    event = published()
    letter = of_long_ago(died(event), "resolved")
    opened, go_on = threading.Event(), threading.Event()

    def open_it() -> None:
        with transaction.atomic():
            DeadLetter.objects.filter(pk=letter.pk).update(state="open", changed_at=NOW)
            opened.set()
            go_on.wait(20)
        connection.close()

    opener = threading.Thread(target=open_it)
    opener.start()
    opened.wait(20)
    run = Pruning(before=NOW - timedelta(days=1), using="default")
    threading.Timer(0.3, go_on.set).start()
    run.letters()
    opener.join()

    assert run.pruned.rows["letters"] == 0
    assert DeadLetter.objects.get().state == "open"


@one_transaction
def test_what_protects_a_corrected_letter_is_the_event_that_was_sent_for_it() -> None:
    event = published("article-1")
    letter = died(b"no event", reason="MalformedEvent", consumer="audit")
    assert correct(letter.pk, event.body, operator=OLGA).done
    of_long_ago(letter, "discarded")
    DeadLetter.objects.filter(pk=letter.pk).update(changed_at=NOW)
    handled(event, at=LONG_AGO - timedelta(days=1))

    Said()

    assert InboxReceipt.objects.count() == 1
