"""What the admin's first page opens with: what needs somebody, each with the way to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from messaging.console.remedies import Advice, advise
from messaging.console.rights import PAUSE, VIEW
from messaging.console.unhealthy import look_around
from messaging.letters.failure_groups import FailureGroup, failure_groups
from messaging.models import DeadLetter
from messaging.running.inert_text import inert

MOST_GROUPS = 5


@dataclass(frozen=True)
class Incident:
    """Open letters of one consumer, failure and place; `url` is the list of them."""

    reason: str
    place: str
    consumer: str
    group: FailureGroup
    url: str


@dataclass(frozen=True)
class FrontPage:
    """`is_cut` where there may be more incidents than are listed."""

    problems: Sequence[Advice]
    incidents: Sequence[Incident]
    is_cut: bool


def front_page(request: HttpRequest) -> FrontPage | None:
    """As much as this person may see; None for whoever has nothing to do with delivery."""
    may_view = request.user.has_perm(VIEW)
    if not may_view and not request.user.has_perm(PAUSE):
        return None
    health = look_around()
    groups: Sequence[FailureGroup] = ()
    if may_view and health.letters:
        groups = failure_groups(state=DeadLetter.State.OPEN, most=MOST_GROUPS + 1)
    return FrontPage(
        [advise(problem) for problem in health.problems],
        [_incident(group) for group in groups[:MOST_GROUPS]],
        is_cut=len(groups) > MOST_GROUPS,
    )


def _incident(group: FailureGroup) -> Incident:
    query: dict[str, Any] = {
        "consumer": group.consumer,
        "reason": group.reason,
        "place": group.place,
    }
    filters = urlencode({name: value for name, value in query.items() if value})
    return Incident(
        inert(group.reason),
        inert(group.place),
        inert(group.consumer),
        group,
        f"{reverse('admin:messaging_deadletter_changelist')}?{filters}",
    )
