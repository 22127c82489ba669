"""Rows that the relay has given up, made due again in pieces that any database has time for."""

from collections.abc import Callable

import pytest
from django.db import OperationalError, connection

from messaging.models import OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator
from messaging.running.process import Lifetime
from messaging.sending import parked_rows
from messaging.storing.database_turns import DatabaseTurns
from tests.processes.harness import Run
from tests.processes.relaying import record_facts

PIECE = 3


@pytest.fixture
def parked(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seven of nine rows, with pieces of three; no statement has time for more."""
    monkeypatch.setattr(parked_rows, "PIECE_ROWS", PIECE)
    ids = [row.pk for row in record_facts(9)]
    failed = [*ids[:4], *ids[6:]]
    OutboxMessage.objects.filter(pk__in=failed).update(state="failed", attempts=8)
    return failed


def retry_all(*, stopping: Callable[[], bool] = lambda: False) -> int:
    with Lifetime(catch_signals=False) as lifetime:
        return parked_rows.retry_all_failed(
            operator=lambda: Operator("olga"),
            turns=DatabaseTurns("default", lifetime),
            using="default",
            stopping=stopping,
        )


def test_however_many_there_are_no_statement_is_about_more_than_a_piece(
    parked: list[int],
) -> None:
    def in_time(execute: Callable[..., object], sql: str, *arguments: object) -> object:
        answer = execute(sql, *arguments)
        if sql.startswith("UPDATE") and arguments[-1]["cursor"].rowcount > PIECE:  # type: ignore[index]
            raise OperationalError("canceling statement due to statement timeout")
        return answer

    with connection.execute_wrapper(in_time):
        count = retry_all()

    assert count == len(parked)
    again = OutboxMessage.objects.filter(state="pending", attempts=0)
    assert again.count() == 9
    lines = OperatorDecision.objects.order_by("pk").values_list("action", "operator", "detail")
    assert list(lines) == [
        ("retry_outbox", "olga", {"rows": some, "count": len(some)})
        for some in (parked[:3], parked[3:6], parked[6:])
    ]
    assert retry_all() == 0


def test_a_stop_is_obeyed_between_two_pieces_and_what_is_done_stays_done(
    parked: list[int],
) -> None:
    looks: list[int] = []

    def stopping() -> bool:
        looks.append(OutboxMessage.objects.failed().count())
        return len(looks) == 3

    assert retry_all(stopping=stopping) == 6

    assert looks == [7, 4, 1]
    assert list(OutboxMessage.objects.failed().values_list("pk", flat=True)) == parked[6:]
