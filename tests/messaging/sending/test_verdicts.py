"""What the broker said of a batch, and what that means for its rows."""

import pytest

from messaging.broker.confirms import Result, Verdict
from messaging.sending.outbox_queue import PARK_AFTER_TRIES
from messaging.sending.rows import OutboxRow
from messaging.sending.verdicts import Refusal, grouped, judge

pytestmark = pytest.mark.any_database


def row(pk: int, *, attempts: int = 0, last_error: str = "") -> OutboxRow:
    return OutboxRow(
        pk,
        None,
        "",
        "a",
        "m",
        1,
        b"{}",
        b"",
        "",
        attempts=attempts,
        last_error=last_error,
        created_at=0,
        size=2,
        bulk=False,
    )


def test_each_row_is_judged_by_its_own_result_and_the_order_is_kept() -> None:
    rows = [row(number) for number in range(7)]
    results = [
        Result(Verdict.CONFIRMED),
        Result(Verdict.RETURNED, "312 NO_ROUTE"),
        Result(Verdict.UNKNOWN),
        Result(Verdict.SUSPECT, "406"),
        Result(Verdict.RETURNED, "312 NO_ROUTE"),
        Result(Verdict.CONFIRMED),
        Result(Verdict.UNENCODABLE, "too long"),
    ]

    judgement = judge(rows, results, alone=False)

    assert judgement.sent == [rows[0], rows[5]]
    assert judgement.unknown == [rows[2]]
    assert judgement.suspected == [rows[3]]
    assert judgement.refused == {
        Refusal(0, "returned: 312 NO_ROUTE", park=False): [rows[1], rows[4]],
        Refusal(0, "unencodable: too long", park=True): [rows[6]],
    }


@pytest.mark.parametrize(
    ("verdict", "attempts", "park"),
    [
        (Verdict.RETURNED, PARK_AFTER_TRIES - 2, False),
        (Verdict.RETURNED, PARK_AFTER_TRIES - 1, True),
        (Verdict.SUSPECT, PARK_AFTER_TRIES - 2, False),
        (Verdict.SUSPECT, PARK_AFTER_TRIES - 1, True),
        (Verdict.UNENCODABLE, 0, True),
        (Verdict.NACKED, 30_000, False),
    ],
)
def test_a_row_is_parked_for_its_own_fault_after_the_documented_tries(
    verdict: Verdict, attempts: int, park: bool
) -> None:
    judgement = judge([row(1, attempts=attempts)], [Result(verdict, "why")], alone=True)

    assert list(judgement.refused) == [Refusal(attempts, f"{verdict}: why", park)]


def test_a_row_costs_no_try_when_the_session_ended_or_another_may_be_at_fault() -> None:
    rows = [row(1), row(2)]

    unknown = judge(rows, [Result(Verdict.UNKNOWN)] * 2, alone=False)
    suspect = judge(rows, [Result(Verdict.SUSPECT)] * 2, alone=False)
    beside_another_batch = judge(rows[:1], [Result(Verdict.SUSPECT)], alone=False)

    assert unknown.refused == suspect.refused == beside_another_batch.refused == {}


def test_where_no_fact_may_be_published_none_pays_and_a_redrive_is_its_own_matter() -> None:
    rows = [row(1), row(2)._replace(consumer="audit")]
    forbidden = Result(Verdict.FORBIDDEN, "403")

    together = judge(rows, [forbidden] * 2, alone=False)
    fact, redrive = (judge([each], [forbidden], alone=True) for each in rows)

    assert (together.suspected, together.fault) == (rows, "")
    assert (fact.unknown, fact.refused, fact.fault) == (rows[:1], {}, "403")
    assert (redrive.refused, redrive.fault) == (
        {Refusal(0, "forbidden: 403", park=False): rows[1:]},
        "",
    )


def test_suspects_go_alone_between_groups_of_the_others() -> None:
    rows = [
        row(1),
        row(2),
        row(3, attempts=1, last_error="suspect: 406 too large"),
        row(4),
        row(5),
        row(6),
        row(7, attempts=2, last_error="returned: 312 NO_ROUTE"),
        row(8, attempts=1, last_error="forbidden: 403"),
    ]

    groups = [([each.pk for each in group], alone) for group, alone in grouped(rows, suspects={5})]

    assert groups == [
        ([1, 2], False),
        ([3], True),
        ([4], False),
        ([5], True),
        ([6, 7], False),
        ([8], True),
    ]


def test_two_suspects_in_a_row_are_two_groups() -> None:
    groups = [list(group) for group, _ in grouped([row(1), row(2)], suspects={1, 2})]

    assert [[each.pk for each in group] for group in groups] == [[1], [2]]
