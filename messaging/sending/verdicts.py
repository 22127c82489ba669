"""What the broker said of a batch, turned into what becomes of its rows. Touches nothing."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from messaging.broker.confirms import Result, Verdict
from messaging.sending.outbox_queue import PARK_AFTER_TRIES
from messaging.sending.rows import OutboxRow


@dataclass(frozen=True)
class Refusal:
    """Why rows could not go, and whether they are tried again."""

    tries_before: int
    error: str
    park: bool


@dataclass
class Judgement:
    """Each row of the batch stands in one of these; the order is kept."""

    sent: list[OutboxRow] = field(default_factory=list)
    refused: dict[Refusal, list[OutboxRow]] = field(default_factory=dict)
    # The broker closed the channel over one of them: each goes alone next time.
    suspected: list[OutboxRow] = field(default_factory=list)
    unknown: list[OutboxRow] = field(default_factory=list)
    # What the broker said where no fact at all may be published.
    fault: str = ""


def judge(rows: Sequence[OutboxRow], results: Sequence[Result], *, alone: bool) -> Judgement:
    """Only a confirm makes a row sent, and only a row's own fault costs it a try.

    `alone` says that nothing else was under way, in this batch or another. What may not be
    published is a row's own fault where it is one kind of fact, or a redrive: facts go on.
    """
    judgement = Judgement()
    for row, result in zip(rows, results, strict=True):
        match result.verdict:
            case Verdict.CONFIRMED:
                judgement.sent.append(row)
            case Verdict.UNKNOWN:
                judgement.unknown.append(row)
            case Verdict.SUSPECT | Verdict.FORBIDDEN if not alone:
                judgement.suspected.append(row)
            case Verdict.FORBIDDEN if not row.consumer:
                judgement.unknown.append(row)
                judgement.fault = result.detail
            case _:
                judgement.refused.setdefault(_refusal(row, result), []).append(row)
    return judgement


def grouped(
    rows: Sequence[OutboxRow], *, suspects: Container[int]
) -> Iterator[tuple[Sequence[OutboxRow], bool]]:
    """The rows in order, in groups to publish at once, and whether that is a row to go alone.

    A row over which the broker may close the channel goes alone, with nothing else under way,
    so that no other is held responsible.
    """
    for alone, group in groupby(rows, lambda row: row.pk in suspects or _was_suspect(row)):
        if alone:
            yield from (([row], True) for row in group)
        else:
            yield list(group), False


def _was_suspect(row: OutboxRow) -> bool:
    return row.last_error.startswith((f"{Verdict.SUSPECT}:", f"{Verdict.FORBIDDEN}:"))


def _refusal(row: OutboxRow, result: Result) -> Refusal:
    match result.verdict:
        case Verdict.UNENCODABLE:
            park = True
        case Verdict.NACKED:
            park = False  # a full queue is no fault of the row; it goes when there is room
        case _:
            park = row.attempts + 1 >= PARK_AFTER_TRIES
    error = f"{result.verdict}: {result.detail}"
    return Refusal(tries_before=row.attempts, error=error, park=park)
