"""One decision over chosen letters, or over all that match: asked about first, then done.

A GET shows what would happen and changes nothing; the POST calls the verb, over no more than
the page had asked about: letters that died meanwhile are left out, and where more match for any
other reason the page asks again. The parameters of the list travel along, so that the operator
is back where they were.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from django.contrib import messages
from django.db import DEFAULT_DB_ALIAS, Error, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from messaging import outbox
from messaging.console import stories
from messaging.console.filters import FIELDS, described, selection_of
from messaging.console.posted import posted_text
from messaging.console.rights import VIEW, VIEW_PAYLOAD, needs, operator_of, page
from messaging.console.rights import require as require_right
from messaging.errors import TransientError
from messaging.letters import batches, dead_letters, redrives
from messaging.letters.dead_letters import Answer
from messaging.letters.pieces import cut, pieces_of
from messaging.letters.search import Selection
from messaging.letters.standing import superseded
from messaging.models import DeadLetter, DeadLetterQuerySet
from messaging.read_only_admin import as_row_id

LIST_URL = "admin:messaging_deadletter_changelist"
LETTER_URL = "admin:messaging_deadletter_change"

BATCH_URL = "admin:messaging_operatorbatch_change"

MOST_COUNTED = 10_000
MOST_IN_A_REQUEST = 200
MOST_SHOWN = 20
LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Scope:
    """The letters of one decision: by id, or all that a list shows, or its superseded ones.

    Those are bounded by the newest letter there was when the page asked, and their number then.
    """

    ids: Sequence[int] = ()
    selection: Selection | None = None
    superseded: bool = False
    newest_id: int | None = None
    asked_count: int | None = None

    @property
    def letters(self) -> DeadLetterQuerySet:
        if self.selection is None:
            return DeadLetter.objects.filter(pk__in=self.ids)
        found = self.selection.letters(DeadLetter.objects.all())
        if self.newest_id is not None:
            found = found.filter(pk__lte=self.newest_id)
        return superseded(found) if self.superseded else found

    @cached_property
    def capped_count(self) -> int:
        return int(self.letters.order_by()[: MOST_COUNTED + 1].count())

    @property
    def is_large(self) -> bool:
        return self.selection is not None and self.capped_count > MOST_IN_A_REQUEST

    @property
    def has_grown(self) -> bool:
        return self.asked_count is not None and self.capped_count > self.asked_count

    @property
    def pieces(self) -> Iterable[Sequence[int]]:
        if self.selection is not None:
            return cut(list(self.letters.order_by("pk").values_list("pk", "body_size")))
        return pieces_of(self.ids, using=DEFAULT_DB_ALIAS)


@require_http_methods(["GET", "HEAD", "POST"])
@needs(VIEW)
def decide(request: HttpRequest, verb: str) -> HttpResponse:
    """Ask on GET, act on POST; both need the verb's own right."""
    require_right(request, batches.RIGHTS[verb])
    scope = _scope(request, verb)
    try:
        if request.method != "POST":
            return _ask(request, verb, scope)
        return _answer(request, verb, scope)
    except OperationalError:
        if scope.selection is None or not scope.selection.text:
            raise
        messages.error(request, search_took_too_long())
        return HttpResponseRedirect(_back(request, scope, without=("q",)))


def search_took_too_long() -> str:
    return _("The search took too long. Narrow it by state, consumer, failure or date.")


def _answer(request: HttpRequest, verb: str, scope: Scope) -> HttpResponse:
    note = posted_text(request, "note")
    if verb == "discard" and not note:
        return _ask(request, verb, scope, fault=_("Say why these letters are discarded."))
    if len(note) > LONGEST_NOTE:
        return _ask(request, verb, scope, fault=_("At most %d characters, please.") % LONGEST_NOTE)
    if scope.has_grown:
        return _ask(request, verb, scope, fault=_("More letters match now: look again, please."))
    if scope.selection is not None and scope.is_large:
        try:
            return _begin_batch(request, verb, scope, scope.selection, note)
        except TransientError as error:
            return _ask(request, verb, scope, fault=str(error))
    act = _act(request, verb, note, bulk=scope.capped_count > outbox.MOST_AT_ONCE)
    answers: list[Answer] = []
    try:
        for piece in scope.pieces:
            answers += act(piece)
    except (TransientError, Error) as error:
        if not answers and not isinstance(error, TransientError):
            raise
        said = _("The database was too busy, and the rest of the letters stay as they were.")
        if not isinstance(error, TransientError):
            said = _("The database went away; look which of the rest were decided over.")
        messages.error(request, said if answers else str(error))
        if not answers:
            return HttpResponseRedirect(_back(request, scope))
    tell(request, verb, answers)
    return HttpResponseRedirect(_back(request, scope))


def _begin_batch(
    request: HttpRequest, verb: str, scope: Scope, selection: Selection, note: str
) -> HttpResponse:
    batch = batches.begin(
        verb,
        selection,
        operator=operator_of(request),
        note=note,
        force=bool(request.POST.get("force")),
        only_superseded=scope.superseded,
        newest_id=scope.newest_id,
    )
    messages.success(request, _("It is carried out in the background. Here is how far it is."))
    return HttpResponseRedirect(reverse(BATCH_URL, args=[batch.pk]))


def tell(request: HttpRequest, verb: str, answers: Sequence[Answer]) -> None:
    """How many were done, and of each refusal why."""
    done = [answer for answer in answers if answer.done]
    refused = [answer for answer in answers if not answer.done]
    if len(answers) == 1 and done:
        messages.success(
            request,
            _("Letter %(id)d: %(said)s") % {"id": done[0].letter_id, "said": done[0].said},
        )
    elif done:
        messages.success(request, _DONE[verb](len(done)))
    for answer in refused[:MOST_SHOWN]:
        messages.warning(
            request, _("Letter %(id)d: %(said)s") % {"id": answer.letter_id, "said": answer.said}
        )
    if more := len(refused[MOST_SHOWN:]):
        messages.warning(
            request,
            ngettext("%d more letter was refused.", "%d more letters were refused.", more) % more,
        )
    if not answers:
        messages.info(request, _("No letter matched, so nothing was done."))


_DONE: dict[str, Callable[[int], str]] = {
    "requeue": lambda n: ngettext("%d letter requeued.", "%d letters requeued.", n) % n,
    "discard": lambda n: ngettext("%d letter discarded.", "%d letters discarded.", n) % n,
    "restore": lambda n: ngettext("%d letter restored.", "%d letters restored.", n) % n,
}


def _scope(request: HttpRequest, verb: str) -> Scope:
    if request.GET.get("all") == "1":
        params = {name: request.GET.get(name, "") for name in FIELDS}
        may_search = request.user.has_perm(VIEW_PAYLOAD)
        wanted = selection_of(params, search_payload=may_search)
        selection = wanted.within_reach(DeadLetter.objects.all())
        return Scope(
            selection=selection,
            superseded=bool(request.GET.get("superseded")) and verb == "discard",
            newest_id=as_row_id(request.POST.get("newest_id", "")),
            asked_count=as_row_id(request.POST.get("count", "")),
        )
    texts = request.GET.get("ids", "").split(",")
    ids = [number for text in texts if (number := as_row_id(text)) is not None]
    return Scope(ids=list(dict.fromkeys(ids)))


def _act(
    request: HttpRequest, verb: str, note: str, *, bulk: bool
) -> Callable[[Sequence[int]], list[Answer]]:
    by = operator_of(request)
    match verb:
        case "requeue":
            force = bool(request.POST.get("force"))
            return partial(dead_letters.requeue, operator=by, note=note, force=force, bulk=bulk)
        case "discard":
            return partial(dead_letters.discard, operator=by, reason=note)
    return partial(dead_letters.restore, operator=by, note=note)


def _ask(request: HttpRequest, verb: str, scope: Scope, *, fault: str = "") -> HttpResponse:
    if scope.selection is not None:
        newest = DeadLetter.objects.order_by("pk").values_list("pk", flat=True).last()
        scope = replace(scope, newest_id=newest or 0)
    letters = scope.letters.without_payload()
    count = scope.capped_count
    few = list(letters[:MOST_SHOWN])
    context: dict[str, Any] = {
        "verb": verb,
        "count": min(count, MOST_COUNTED),
        "asked_count": count,
        "newest_id": scope.newest_id,
        "is_more": count > MOST_COUNTED,
        "letters": [(letter, stories.what(letter)) for letter in few],
        "unshown": max(0, count - len(few)),
        "in_vain": _in_vain(scope) if verb == "requeue" else 0,
        "filters": described(scope.selection) if scope.selection else "",
        "superseded": scope.superseded,
        "all": scope.selection is not None,
        "is_large": scope.is_large,
        "fault": fault,
        "note": posted_text(request, "note"),
        "back": _back(request, scope),
        "longest_note": LONGEST_NOTE,
    }
    titles = {
        "requeue": ngettext("Requeue %d letter", "Requeue %d letters", count),
        "discard": ngettext("Discard %d letter", "Discard %d letters", count),
        "restore": ngettext("Restore %d letter", "Restore %d letters", count),
    }
    title = titles[verb] % context["count"]
    return render(
        request,
        "admin/messaging/deadletter/decide.html",
        page(request, title, **context),
        status=400 if fault else 200,
    )


def _in_vain(scope: Scope) -> int:
    """How many of the chosen cannot be helped by it; of all that match, how many may not be.

    Those are too many to read, and what died as unreadable may be readable by now.
    """
    if scope.selection is None:
        chosen = scope.letters.defer("body_text", "headers").select_related("correction")
        return sum(bool(stories.in_vain(redrives.prepare(each))) for each in chosen)
    letters = scope.letters.filter(reason__in=stories.SELDOM_HELPED)
    return int(letters.order_by()[:MOST_COUNTED].count())


def _back(request: HttpRequest, scope: Scope, *, without: Sequence[str] = ()) -> str:
    if request.GET.get("from") == "letter" and len(scope.ids) == 1:
        return reverse(LETTER_URL, args=scope.ids)
    kept = request.GET.copy()
    for name in list(kept):
        if name not in (*FIELDS, "p") or name in without:
            del kept[name]
    return f"{reverse(LIST_URL)}?{kept.urlencode()}" if kept else reverse(LIST_URL)
