"""How much was handled and how long it took, from publishing to the receipt, over a span of time.

Told from the latest receipts alone, at most MOST_RECEIPTS of each consumer among the latest REACH
of all: no page may count a table of millions, nor walk past a million of others to what a consumer
handled before it stopped. Where those do not reach back to the beginning, `since` says how far.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, OuterRef, Subquery, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from messaging.models import DeadLetter, InboxReceipt, OutboxMessage
from messaging.registry import Consumer

MOST_RECEIPTS = 2_500
REACH = 20_000
MOST_SENT = 500
_QUANTILES = (0.50, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Spell:
    """A stretch of time: how many were handled in it, and their latencies in seconds."""

    begins: datetime
    handled: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Pace:
    """One consumer over one span; `whole` is the span as one spell."""

    spells: Sequence[Spell]
    whole: Spell
    since: datetime
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Handled:
    at: datetime
    seconds: float | None  # none where the fact is not one of our outbox


def paces(consumer: Consumer, spans: Sequence[tuple[timedelta, int]]) -> list[Pace]:
    """The pace over each span that ends now, cut into so many spells. Two queries."""
    now = timezone.now()
    handled = _latest(consumer)
    if len(handled) == MOST_RECEIPTS:
        oldest: datetime | None = min(each.at for each in handled)
    else:
        oldest = _out_of_reach(consumer)
    return [
        _pace(handled, now=now, length=length, pieces=pieces, oldest=oldest)
        for length, pieces in spans
    ]


def oldest_unhandled(consumer: Consumer) -> datetime | None:
    """When the oldest fact was sent that this consumer takes, and has not handled or given up.

    Looked for among the latest MOST_SENT of all, in three queries; None where there is none.
    """
    facts = OutboxMessage.objects.filter(consumer="", state=OutboxMessage.State.SENT)
    rows = facts.order_by("-pk").values_list("pk", "event_id", "sent_at", "type")[:MOST_SENT]
    takes = cache(consumer.takes)  # of a few types
    sent = {event_id: at for _pk, event_id, at, kind in rows if event_id and takes(kind)}
    if not sent:
        return None
    # Hundreds of ids in a statement cost more than to look for them again; newer ones do no harm.
    those = facts.filter(pk__gte=min(pk for pk, *_ in rows)).order_by().values("event_id")
    receipts = InboxReceipt.objects.using(consumer.database).filter(consumer=consumer.name)
    theirs: Any = those if consumer.database == DEFAULT_DB_ALIAS else list(sent)
    handled = set(receipts.filter(event_id__in=theirs).values_list("event_id", flat=True))
    letters = DeadLetter.objects.filter(consumer=consumer.name, event_id__in=those)
    given_up = set(letters.values_list("event_id", flat=True))
    waiting = [at for event_id, at in sent.items() if event_id not in handled | given_up and at]
    return min(waiting, default=None)


def _latest(consumer: Consumer) -> list[_Handled]:
    every = InboxReceipt.objects.using(consumer.database)
    receipts = every.filter(consumer=consumer.name, pk__gt=_edge(consumer))
    ours = consumer.database == DEFAULT_DB_ALIAS
    if ours:
        facts = OutboxMessage.objects.filter(consumer="", event_id=OuterRef("event_id")).order_by()
        receipts = receipts.annotate(published=Subquery(facts.values("created_at")[:1]))
    # In order of the key, which is nearly that of time and needs no sorting. As texts: Django takes
    # ten times as long to make a moment.
    names = ["handled_at", "published"] if ours else ["handled_at"]
    texts = [Cast(name, TextField()) for name in names]
    rows = receipts.order_by("-pk").values_list(*texts)[:MOST_RECEIPTS]
    return [_handled(*row) for row in rows]


def _out_of_reach(consumer: Consumer) -> datetime | None:
    """When the newest receipt was written that is not looked at; None where all are."""
    rows = InboxReceipt.objects.using(consumer.database).filter(pk__lte=_edge(consumer))
    return rows.order_by("-pk").values_list("handled_at", flat=True).first()


def _edge(consumer: Consumer) -> Subquery:
    newest = InboxReceipt.objects.using(consumer.database).order_by("-pk")
    return Subquery(newest.annotate(edge=F("pk") - REACH).values("edge")[:1])


def _handled(handled: str, published: str | None = None) -> _Handled:
    at = _moment(handled)
    if published is None:
        return _Handled(at, None)
    return _Handled(at, max(0.0, (at - _moment(published)).total_seconds()))


def _moment(text: str) -> datetime:
    """SQLite's moments are UTC and do not say so."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _pace(
    handled: Sequence[_Handled],
    *,
    now: datetime,
    length: timedelta,
    pieces: int,
    oldest: datetime | None,
) -> Pace:
    begins, step = now - length, length / pieces
    sorted_in: list[list[_Handled]] = [[] for _ in range(pieces)]
    for each in handled:
        if each.at >= begins:
            place = min(pieces - 1, int((each.at - begins) / step))
            sorted_in[place].append(each)
    is_cut = oldest is not None and oldest > begins
    return Pace(
        spells=[_spell(begins + step * number, each) for number, each in enumerate(sorted_in)],
        whole=_spell(begins, [each for piece in sorted_in for each in piece]),
        since=oldest if is_cut and oldest is not None else begins,
        is_cut=is_cut,
    )


def _spell(begins: datetime, handled: Sequence[_Handled]) -> Spell:
    times = sorted(each.seconds for each in handled if each.seconds is not None)
    p50, p95, p99 = (_quantile(times, share) for share in _QUANTILES)
    return Spell(begins, len(handled), p50, p95, p99)


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest of them that at least that share of them does not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None
