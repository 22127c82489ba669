"""Letters by failure: one incident is one line with its trend, not ten thousand letters."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.db.models.functions import TruncHour
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from messaging.console.charts import outline
from messaging.console.rights import VIEW, needs, page
from messaging.letters.failure_groups import FailureGroup, failure_groups
from messaging.letters.search import ALL
from messaging.models import DeadLetter, DeadLetterQuerySet
from messaging.running.inert_text import inert

MOST_GROUPS = 100
TREND_HOURS = 24
_Key = tuple[str, str, str]


@dataclass(frozen=True)
class GroupRow:
    """A group as the page shows it; `trend` is the shape of an hour a bar."""

    group: FailureGroup
    reason: str
    place: str
    url: str
    trend: str
    of_late: int
    trend_said: str


@require_safe
@needs(VIEW)
def show_failures(request: HttpRequest) -> HttpResponse:
    """The largest groups, of what is open or of everything."""
    state = ALL if request.GET.get("state") == ALL else str(DeadLetter.State.OPEN)
    letters = DeadLetter.objects.all() if state == ALL else DeadLetter.objects.open()
    groups = failure_groups(state="" if state == ALL else state, most=MOST_GROUPS)
    trends = _trends(letters)
    rows = [_row(group, trends.get(_key(group), {}), state) for group in groups]
    context = {"opts": DeadLetter._meta, "rows": rows, "state": state, "most": MOST_GROUPS}
    return render(
        request,
        "admin/messaging/deadletter/failures.html",
        page(request, _("Dead letters by failure"), **context),
    )


def _row(group: FailureGroup, by_hour: dict[datetime, int], state: str) -> GroupRow:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [now - timedelta(hours=back) for back in range(TREND_HOURS - 1, -1, -1)]
    counts = [by_hour.get(hour, 0) for hour in hours]
    query: dict[str, Any] = {
        "state": "" if state == DeadLetter.State.OPEN else state,
        "consumer": group.consumer,
        "reason": group.reason,
        "place": group.place,
    }
    filters = urlencode({name: value for name, value in query.items() if value})
    said = _("%(sum)d died in the last %(hours)d hours, %(now)d of them in this hour")
    return GroupRow(
        group,
        inert(group.reason),
        inert(group.place),
        f"{reverse('admin:messaging_deadletter_changelist')}?{filters}",
        outline(counts, width=120, height=24),
        sum(counts),
        said % {"sum": sum(counts), "hours": TREND_HOURS, "now": counts[-1]},
    )


def _trends(letters: DeadLetterQuerySet) -> dict[_Key, dict[datetime, int]]:
    since = timezone.now() - timedelta(hours=TREND_HOURS)
    rows = (
        letters.filter(died_at__gte=since)
        .order_by()
        # Whole hours of UTC, as the bars are: some zones begin theirs in the middle of one.
        .annotate(hour=TruncHour("died_at", tzinfo=UTC))
        .values("consumer", "reason", "place", "hour")
        .annotate(count=Count("*"))
    )
    found: dict[_Key, dict[datetime, int]] = {}
    for row in rows:
        key = row["consumer"], row["reason"], row["place"]
        found.setdefault(key, {})[row["hour"]] = row["count"]
    return found


def _key(group: FailureGroup) -> _Key:
    return group.consumer, group.reason, group.place
