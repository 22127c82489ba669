"""The list of dead letters, and the way to every other page about them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Page
from django.db import OperationalError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from messaging.console import correcting, deciding, failures, letter_page, stories
from messaging.console.broker_look import look
from messaging.console.filters import (
    FIELDS,
    ConsumerFilter,
    DiedFilter,
    FailureFilter,
    PlaceFilter,
    StateFilter,
    TypeFilter,
    selection_of,
)
from messaging.console.rights import DISCARD, REQUEUE, VIEW_PAYLOAD, page
from messaging.console.spans import span
from messaging.letters import batches
from messaging.letters.search import ALL, SEARCHED, Selection
from messaging.letters.standing import with_standing
from messaging.models import DeadLetter
from messaging.read_only_admin import CappedPaginator, ReadOnlyAdmin, as_row_id
from messaging.running.inert_text import inert

# Where a request keeps the selection that its search comes down to, and what it has found.
_REACH, _FOUND = "letters_within_reach", "letters_found"


class LetterPaginator(CappedPaginator):
    """Looks up where the letters of a page stand for that page alone, not for all before it.

    `found` are the ids of all of them in their order, where a search has found them already.
    """

    def __init__(self, *args: Any, found: Sequence[int] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._found = found

    @cached_property
    def count(self) -> int:
        return super().count if self._found is None else min(len(self._found), self.MOST)

    def page(self, number: Any) -> Any:
        number = self.validate_number(number)
        rows: Any = self.object_list
        every = rows.values_list("pk", flat=True) if self._found is None else self._found
        start = (number - 1) * self.per_page
        ids = every[start : start + self.per_page]
        letters = DeadLetter.objects.without_payload().filter(pk__in=list(ids))
        return Page(with_standing(letters).order_by("-died_at", "-id"), number, self)


class LetterAdmin(ReadOnlyAdmin):
    """Opens on what waits for a decision; looking changes nothing."""

    ordering = ("-died_at", "-id")
    list_display = ("fact", "state_sign", "consumer", "failure", "tries", "age")
    list_display_links = ("fact",)
    list_filter = (
        StateFilter,
        ConsumerFilter,
        FailureFilter,
        PlaceFilter,
        TypeFilter,
        DiedFilter,
    )
    search_fields = ("error",)
    search_help_text = _("Words of the error or the body, or a material's or an event's id, whole")
    everything = f"state={ALL}"  # without a word of the state, the open ones are shown
    actions = ("requeue_chosen", "discard_chosen", "restore_chosen")
    change_list_template = "admin/messaging/deadletter/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("failures/", failures.show_failures, name="messaging_failures"),
            *(
                path(f"{verb}/", deciding.decide, {"verb": verb}, name=f"messaging_{verb}")
                for verb in batches.VERBS
            ),
            path("<int:letter_id>/body/", letter_page.download_body, name="messaging_body"),
            path("<int:letter_id>/dry-run/", correcting.try_dry, name="messaging_dry_run"),
            path("<int:letter_id>/correct/", correcting.correct_letter, name="messaging_correct"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        letters = DeadLetter.objects.without_payload()
        return with_standing(letters).order_by(*self.ordering)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        reach: Selection | None = getattr(request, _REACH, None)
        if reach is None or not search_term:
            return queryset, False
        letters: Any = self.get_queryset(request)
        if reach.text:
            # Read once, not for the count and for the page.
            found = reach.letters(DeadLetter.objects.order_by(*self.ordering))
            setattr(request, _FOUND, list(found.values_list("pk", flat=True)))
        return reach.letters(letters), False

    def get_paginator(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        found = getattr(request, _FOUND, None)
        return LetterPaginator(*args, found=found, **options)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        verbs = [verb for verb in batches.VERBS if f"{verb}_chosen" in self.get_actions(request)]
        if request.POST.get("select_across") == "1":
            # None of them need be ticked, which Django asks for.
            number = as_row_id(request.POST.get("index", ""))
            if number is not None and number < len(verbs):
                return _to_decision(request, verbs[number], DeadLetter.objects.none())
        matching = {name: request.GET[name] for name in FIELDS if request.GET.get(name)}
        wanted = selection_of(matching, search_payload=request.user.has_perm(VIEW_PAYLOAD))
        context = {
            **page(request, gettext("Dead letters")),
            "broker": look(),
            "matching": urlencode({"all": 1, **matching}),
            "verbs": verbs,
            "filtered": bool(matching),
        }
        try:
            reach = wanted.within_reach(DeadLetter.objects.all())
            setattr(request, _REACH, reach)
            if reach.text and reach.since != wanted.since:
                context |= {"searched": SEARCHED, "searched_since": reach.since}
            response = super().changelist_view(request, {**context, **(extra_context or {})})
            if hasattr(response, "render"):
                response.render()  # here, so that a search that takes too long is caught
            return response
        except OperationalError:
            if "q" not in request.GET:
                raise
            messages.error(request, deciding.search_took_too_long())
            kept = {name: value for name, value in matching.items() if name != "q"}
            return HttpResponseRedirect(f"{request.path}?{urlencode(kept)}")

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        return letter_page.show_letter(request, object_id)

    def history_view(self, request: HttpRequest, object_id: str, *args: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse(deciding.LETTER_URL, args=[object_id]))

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        offered = {f"{verb}_chosen" for verb in _offered(request)}
        actions: dict[str, Any] = super().get_actions(request)
        return {name: action for name, action in actions.items() if name in offered}

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(REQUEUE)

    def has_discard_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(DISCARD)

    @admin.action(description=_("Requeue the chosen letters …"), permissions=["requeue"])
    def requeue_chosen(self, request: HttpRequest, letters: QuerySet[Any]) -> HttpResponse:
        return _to_decision(request, "requeue", letters)

    @admin.action(description=_("Discard the chosen letters …"), permissions=["discard"])
    def discard_chosen(self, request: HttpRequest, letters: QuerySet[Any]) -> HttpResponse:
        return _to_decision(request, "discard", letters)

    @admin.action(description=_("Restore the chosen letters …"), permissions=["discard"])
    def restore_chosen(self, request: HttpRequest, letters: QuerySet[Any]) -> HttpResponse:
        return _to_decision(request, "restore", letters)

    @admin.display(description=_("fact"))
    def fact(self, letter: DeadLetter) -> str:
        return f"{letter.pk} · {stories.what(letter)}"

    @admin.display(description=_("state"))
    def state_sign(self, letter: Any) -> str:
        word = DeadLetter.State(letter.state).label
        sign = format_html('<span class="sign {}">{}</span>', letter.state, word)
        if letter.is_applied and letter.state != DeadLetter.State.RESOLVED:
            return format_html("{} <small>{}</small>", sign, gettext("already applied"))
        if letter.is_superseded and letter.state != DeadLetter.State.RESOLVED:
            return format_html("{} <small>{}</small>", sign, gettext("superseded"))
        return sign

    @admin.display(description=_("failure"))
    def failure(self, letter: DeadLetter) -> str:
        error = inert(letter.error)
        short = error if len(error) <= 120 else f"{error[:119]}…"
        return format_html("<b>{}</b> {}", inert(letter.reason), short)

    @admin.display(description=_("attempts"))
    def tries(self, letter: DeadLetter) -> str:
        tries = "?" if letter.attempt is None else str(letter.attempt + 1)
        return f"{tries} (×{letter.deaths})" if letter.deaths > 1 else tries

    @admin.display(description=_("age"))
    def age(self, letter: DeadLetter) -> str:
        exact = f"{letter.died_at:%Y-%m-%d %H:%M:%S} UTC"
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            letter.died_at.isoformat(),
            exact,
            span((timezone.now() - letter.died_at).total_seconds()),
        )


# What can be decided over letters of a state; over those of every state: all of it.
_DECISIONS: Mapping[str, Collection[str]] = {
    DeadLetter.State.OPEN: ("requeue", "discard"),
    DeadLetter.State.REQUEUED: ("requeue", "discard"),
    DeadLetter.State.RESOLVED: (),
    DeadLetter.State.DISCARDED: ("restore",),
}


def _offered(request: HttpRequest) -> Collection[str]:
    return _DECISIONS.get(request.GET.get("state") or DeadLetter.State.OPEN, batches.VERBS)


def _to_decision(request: HttpRequest, verb: str, letters: QuerySet[Any]) -> HttpResponse:
    """The page that asks; with the list's parameters, so that they are kept afterwards."""
    kept = {name: request.GET[name] for name in (*FIELDS, "p") if request.GET.get(name)}
    if request.POST.get("select_across") == "1":
        return HttpResponseRedirect(_decision_url(verb, {"all": 1, **kept}))
    ids = request.POST.getlist(ACTION_CHECKBOX_NAME)
    found = letters.filter(Q(pk__in=ids)).order_by().values_list("pk", flat=True)
    return HttpResponseRedirect(_decision_url(verb, {"ids": ",".join(map(str, found)), **kept}))


def _decision_url(verb: str, params: dict[str, Any]) -> str:
    return f"{reverse(f'admin:messaging_{verb}')}?{urlencode(params)}"
