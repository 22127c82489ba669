"""Large actions: how far each is, at what pace, what was refused, and how to stop the rest."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from messaging.console.deciding import BATCH_URL, LONGEST_NOTE
from messaging.console.filters import described
from messaging.console.lists import ConsoleList
from messaging.console.posted import posted_text
from messaging.console.rights import VIEW, needs, operator_of, page, require
from messaging.console.spans import span
from messaging.errors import TransientError
from messaging.letters import batches
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision
from messaging.read_only_admin import ReadOnlyAdmin, as_row_id
from messaging.running.inert_text import inert


class BatchAdmin(ConsoleList, ReadOnlyAdmin):
    """Decisions over many letters at once, the newest first."""

    ordering = ("-id",)
    here = "batches"
    list_display = ("what", "by", "created_at", "matched", "done", "refused", "standing")

    def get_urls(self) -> list[URLPattern]:
        own = [path("<int:batch_id>/cancel/", cancel_batch, name="messaging_cancel_batch")]
        return [*own, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        return show_batch(request, object_id)

    @admin.display(description=_("action"))
    def what(self, batch: OperatorBatch) -> str:
        return f"{batch.pk}: {OperatorDecision.Action(batch.action).label}"

    @admin.display(description=_("operator"))
    def by(self, batch: OperatorBatch) -> str:
        return inert(batch.operator)

    @admin.display(description=_("state"))
    def standing(self, batch: OperatorBatch) -> str:
        sign, said = _standing(batch)
        return format_html('<span class="sign {}">{}</span>', sign, said)


@needs(VIEW)
def show_batch(request: HttpRequest, object_id: str) -> HttpResponse:
    """How far it is; asks again by itself only where the reader wants so."""
    batch = _find(unquote(object_id))
    handled = batch.done + batch.refused
    ends = batch.finished_at or timezone.now()
    seconds = (ends - batch.started_at).total_seconds() if batch.started_at else 0.0
    pace = handled / seconds if seconds > 0 else 0.0
    left = max(0, batch.matched - handled)
    sign, said = _standing(batch)
    context = {
        "opts": OperatorBatch._meta,
        "batch": batch,
        "story": _story(batch),
        "note": inert(batch.note),
        "ended_because": inert(batch.ended_because),
        "sign": sign,
        "said": said,
        "handled": handled,
        "filters": inert(_filters_said(batch)),
        "is_going": batch.in_background and batch.finished_at is None,
        "watched": bool(request.GET.get("watch")),
        "pace": f"{pace:.0f}" if pace >= 10 else f"{pace:.1f}",
        "took": span(seconds),
        "left": span(left / pace) if pace else "",
        "refusals": [(letter_id, inert(why)) for letter_id, why in batch.refusals],
        "may_cancel": request.user.has_perm(batches.RIGHTS.get(batch.action, VIEW)),
        "letters_meta": DeadLetter._meta,
    }
    title = gettext("Large action %d") % batch.pk
    return render(request, "admin/messaging/batch.html", page(request, title, **context))


@require_http_methods(["GET", "HEAD", "POST"])
@needs(VIEW)
def cancel_batch(request: HttpRequest, batch_id: int) -> HttpResponse:
    """Stop the rest; needs the right to the action itself. A GET leads to the action's page."""
    batch = _find(str(batch_id))
    if request.method != "POST":
        return HttpResponseRedirect(reverse(BATCH_URL, args=[batch.pk]))
    require(request, batches.RIGHTS.get(batch.action, VIEW))
    try:
        note = posted_text(request, "note")[:LONGEST_NOTE]
        if batches.cancel(batch.pk, operator=operator_of(request), note=note):
            messages.success(request, gettext("Cancelled. What is done stays done."))
        else:
            messages.info(request, gettext("It had ended already."))
    except TransientError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse(BATCH_URL, args=[batch.pk]))


def _find(text: str) -> OperatorBatch:
    number = as_row_id(text)
    if number is not None:
        batch = OperatorBatch.objects.filter(pk=number).first()
        if batch is not None:
            return batch
    raise Http404(gettext("There is no such large action."))


def _filters_said(batch: OperatorBatch) -> str:
    said = described(batches.selection_of(batch))
    return f"{said}, {gettext('superseded')}" if batches.is_of_superseded(batch) else said


def _story(batch: OperatorBatch) -> str:
    words = {"operator": inert(batch.operator), "count": batch.matched}
    return _STORIES[batch.action](batch.matched) % words


_STORIES: dict[str, Callable[[int], str]] = {
    "requeue": lambda n: ngettext(
        "%(operator)s decided to requeue %(count)d letter.",
        "%(operator)s decided to requeue %(count)d letters.",
        n,
    ),
    "discard": lambda n: ngettext(
        "%(operator)s decided to discard %(count)d letter.",
        "%(operator)s decided to discard %(count)d letters.",
        n,
    ),
    "restore": lambda n: ngettext(
        "%(operator)s decided to restore %(count)d letter.",
        "%(operator)s decided to restore %(count)d letters.",
        n,
    ),
}


def _standing(batch: OperatorBatch) -> tuple[str, str]:
    if batch.cancelled_at:
        return "discarded", gettext("cancelled")
    if batch.ended_because:
        return "open", gettext("given up")
    if batch.finished_at:
        return "resolved", gettext("finished")
    if not batch.in_background:
        return "requeued", gettext("in a shell, or cut off there")
    return "requeued", gettext("going on") if batch.started_at else gettext("waits to begin")
