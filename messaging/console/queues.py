"""The queues: what waits, how fast it goes, what is unhealthy; and pausing and resuming."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from messaging import registry
from messaging.broker.sessions import topology
from messaging.console.broker_look import BrokerLook
from messaging.console.pace_charts import KEPT_SECONDS, PaceChart, pace_charts
from messaging.console.posted import posted_text
from messaging.console.remedies import advise
from messaging.console.rights import PAUSE, VIEW, needs, operator_of, page, require
from messaging.console.spans import span
from messaging.console.unhealthy import look_around
from messaging.errors import TransientError
from messaging.letters.search import as_moment
from messaging.models import Pause, RelayLease
from messaging.operating import pauses
from messaging.operating.pace import MOST_RECEIPTS, REACH, oldest_unhandled
from messaging.read_only_admin import ReadOnlyAdmin

PAGE = "admin:messaging_pause_changelist"
LONGEST_REASON = 500
PAUSE_MINUTES = (15, 60, 480)


@dataclass(frozen=True)
class QueueRow:
    name: str
    purpose: str
    ready: int | None
    consumers: int | None
    is_missing: bool
    age: str


@dataclass(frozen=True)
class TargetRow:
    """What can be paused, and the pause that holds, if one does."""

    name: str
    is_relay: bool
    pause: Pause | None


class QueueAdmin(ReadOnlyAdmin):
    """Stands in the admin's index as “Queues”."""

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("hold/", pause_target, name="messaging_hold"),
            path("resume/", resume_target, name="messaging_resume"),
        ]
        return [*own, *super().get_urls()]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(VIEW) or request.user.has_perm(PAUSE)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            require(request, VIEW)
        return _show(request)

    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse(PAGE))

    history_view = change_view


@require_http_methods(["GET", "HEAD", "POST"])
@needs(PAUSE)
def pause_target(request: HttpRequest) -> HttpResponse:
    """Pause one target, with a reason and perhaps an end.

    A GET, of somebody who signed in in between, leads to the queues, as from each act here.
    """
    if request.method != "POST":
        return HttpResponseRedirect(reverse(PAGE))
    target = posted_text(request, "target")
    reason = posted_text(request, "reason")
    until = _end(request)
    if target not in pauses.targets():
        messages.error(request, _("There is nothing of that name to pause."))
    elif not reason or len(reason) > LONGEST_REASON:
        messages.error(request, _("Say why, in at most %d characters.") % LONGEST_REASON)
    elif until is not None and until <= timezone.now():
        messages.error(request, _("That end is past already, or is no time."))
    else:
        try:
            pauses.pause(target, operator=operator_of(request), reason=reason, until=until)
        except TransientError as error:
            messages.error(request, str(error))
        else:
            said = _("%s is paused: its processes stop within two seconds.")
            messages.success(request, said % target)
    return HttpResponseRedirect(reverse(PAGE))


@require_http_methods(["GET", "HEAD", "POST"])
@needs(PAUSE)
def resume_target(request: HttpRequest) -> HttpResponse:
    """End the pause of one target."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse(PAGE))
    target = posted_text(request, "target")
    try:
        was_paused = pauses.resume(target, operator=operator_of(request))
    except TransientError as error:
        messages.error(request, str(error))
    else:
        if was_paused:
            messages.success(request, _("%s goes on.") % target)
        else:
            messages.info(request, _("It was not paused any longer."))
    return HttpResponseRedirect(reverse(PAGE))


def _end(request: HttpRequest) -> datetime | None:
    """None for an open end; a moment of the past where it cannot be read."""
    unreadable = timezone.now() - timedelta(days=1)
    if text := posted_text(request, "until"):
        return as_moment(text) or unreadable
    minutes = posted_text(request, "minutes")
    if not minutes:
        return None
    known = {str(each): each for each in PAUSE_MINUTES}
    if minutes not in known:
        return unreadable
    return timezone.now() + timedelta(minutes=known[minutes])


def _show(request: HttpRequest) -> HttpResponse:
    health = look_around()
    by_target = {each.target: each for each in health.paused}
    context: dict[str, Any] = {
        "opts": Pause._meta,
        "broker": health.broker,
        "problems": [advise(problem) for problem in health.problems],
        "queues": _queue_rows(health.broker),
        "outbox": health.outbox,
        "oldest": _age_said(health.outbox.oldest_pending_seconds),
        "leases": RelayLease.objects.all(),
        "now": timezone.now(),
        "targets": [
            TargetRow(name, name == registry.RELAY, by_target.get(name))
            for name in pauses.targets()
        ],
        "charts": _charts(),
        "most_receipts": MOST_RECEIPTS,
        "reach": REACH,
        "kept_seconds": KEPT_SECONDS,
        "minutes": [(each, span(each * 60)) for each in PAUSE_MINUTES],
        "longest_reason": LONGEST_REASON,
    }
    return render(request, "admin/messaging/queues.html", page(request, _("Queues"), **context))


def _queue_rows(broker: BrokerLook) -> list[QueueRow]:
    rows: list[QueueRow] = []
    for consumer in registry.consumers():
        oldest = oldest_unhandled(consumer)
        waits = None if oldest is None else (timezone.now() - oldest).total_seconds()
        names = topology()
        for name, purpose, age in (
            (names.main(consumer.name), _("to be handled"), _age_said(waits)),
            (names.retry(consumer.name), _("to be tried again"), ""),
            (names.dead(consumer.name), _("dead, to be collected"), ""),
        ):
            depth = broker.queues.get(name)
            rows.append(
                QueueRow(
                    name,
                    purpose,
                    depth.ready if depth else None,
                    depth.consumers if depth else None,
                    is_missing=not broker.problem and depth is None,
                    age=age,
                )
            )
    return rows


def _charts() -> Sequence[tuple[str, Sequence[PaceChart]]]:
    return [(each.name, pace_charts(each)) for each in registry.consumers()]


def _age_said(seconds: float | None) -> str:
    return "" if seconds is None else span(seconds)
