"""Trying a letter without sending it, and sending another body in its place."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from messaging.console import payload, stories
from messaging.console.letter_page import find_letter
from messaging.console.posted import posted_text
from messaging.console.rights import (
    CORRECT,
    REQUEUE,
    VIEW,
    VIEW_PAYLOAD,
    needs,
    operator_of,
    page,
)
from messaging.console.sightings import may_see_payload
from messaging.errors import TransientError
from messaging.event.json_strict import MAX_BODY_BYTES
from messaging.letters import corrections, redrives
from messaging.letters.dry_run import DryRun, dry_run
from messaging.models import DeadLetter
from messaging.running.inert_text import inert, inert_block

LETTER_URL = "admin:messaging_deadletter_change"


@require_http_methods(["GET", "HEAD", "POST"])
@needs(VIEW, VIEW_PAYLOAD, REQUEUE)
def try_dry(request: HttpRequest, letter_id: int) -> HttpResponse:
    """What a requeue would change, or the error it would raise; rolled back.

    To a GET, of somebody who comes back to the address, the letter.
    """
    letter = find_letter(letter_id)
    if request.method != "POST":
        return HttpResponseRedirect(reverse(LETTER_URL, args=[letter.pk]))
    if not may_see_payload(request, letter, where="dry run"):
        messages.error(request, _("The log of looks cannot be written now: try again."))
        return HttpResponseRedirect(reverse(LETTER_URL, args=[letter.pk]))
    title = _("Dry run of letter %d") % letter.pk
    context = {
        "letter": letter,
        "what": stories.what(letter),
        "tried": shown_dry_run(dry_run(letter)),
        "simulated": stories.simulation_said(letter),
    }
    return render(
        request, "admin/messaging/deadletter/dry_run.html", page(request, title, **context)
    )


@require_http_methods(["GET", "HEAD", "POST"])
@needs(VIEW, VIEW_PAYLOAD, CORRECT)
def correct_letter(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The body to edit; on POST checked alone, or checked and sent."""
    letter = find_letter(letter_id)
    if not may_see_payload(request, letter, where="correction"):
        messages.error(request, _("The log of looks cannot be written now: try again."))
        return HttpResponseRedirect(reverse(LETTER_URL, args=[letter.pk]))
    before = redrives.prepare(letter).body
    if request.method != "POST":
        laid_out = payload.to_edit(before)
        text = _text_of(before) if laid_out is None else laid_out
        return _editor(request, letter, text, laid_out=laid_out is not None)
    # A form sends its lines with CRLF, whatever they had before.
    text = request.POST.get("body", "").replace("\r\n", "\n")
    note = posted_text(request, "note")[:2000]
    body = text.encode("utf-8", "surrogatepass")
    faults = corrections.problems(letter, body)
    if not faults and corrections.says_the_same(before, body):
        said = _(
            "Nothing is changed but spaces and line ends. Requeue the letter as it is instead."
        )
        faults = [corrections.Problem(None, said)]
    if faults or "check" in request.POST:
        return _editor(request, letter, text, note=note, faults=faults, checked=body)
    try:
        answer = corrections.correct(letter.pk, body, operator=operator_of(request), note=note)
    except TransientError as error:
        messages.error(request, str(error))
        return _editor(request, letter, text, note=note)
    (messages.success if answer.done else messages.error)(request, answer.said)
    return HttpResponseRedirect(reverse(LETTER_URL, args=[letter.pk]))


def shown_dry_run(tried: DryRun) -> dict[str, Any]:
    """The result with every foreign text inert."""
    return {
        "outcome": tried.outcome,
        "outcome_said": _OUTCOMES.get(tried.outcome or "", lambda: tried.outcome)(),
        "changes": [
            (inert(name), inert(_short(before)), inert(_short(after)))
            for name, (before, after) in tried.changes.items()
        ],
        "error_class": inert(tried.error_class),
        "error": inert(tried.error),
        "error_kind": inert(tried.error_kind),
        "traceback": inert_block(
            tried.traceback.encode("utf-8", "backslashreplace"), limit_bytes=payload.SHOWN_BYTES
        ),
    }


_OUTCOMES = {
    "applied": lambda: _("It would be applied."),
    "duplicate": lambda: _("It would change nothing: this fact was handled already."),
    "stale": lambda: _("It would change nothing: a newer revision is there."),
}


def _editor(
    request: HttpRequest,
    letter: DeadLetter,
    text: str,
    *,
    note: str = "",
    faults: Sequence[corrections.Problem] = (),
    checked: bytes | None = None,
    laid_out: bool = False,
) -> HttpResponse:
    before = redrives.prepare(letter).body
    sound = checked is not None and not faults
    context = {
        "letter": letter,
        "what": stories.what(letter),
        "body": _editable(text),
        "laid_out": laid_out,
        "too_large": len(before) > MAX_BODY_BYTES,
        "not_text": "\N{REPLACEMENT CHARACTER}" in _text_of(before),
        "note": note,
        "general_faults": [inert(fault.said) for fault in faults if fault.line is None],
        "lines": _lines_around(text, faults) if faults else [],
        "sound": sound,
        "difference": corrections.difference(before, checked) if checked is not None else "",
        "tried": shown_dry_run(dry_run(letter, body=checked)) if sound else None,
        "simulated": stories.simulation_said(letter),
    }
    title = _("Correct letter %d and requeue it") % letter.pk
    return render(
        request,
        "admin/messaging/deadletter/correct.html",
        page(request, title, **context),
        status=400 if faults else 200,
    )


def _lines_around(
    text: str, faults: Sequence[corrections.Problem]
) -> list[tuple[int, str, list[str]]]:
    """The lines at fault, with two around each, and what is wrong beside them."""
    lines = text.split("\n")
    wrong: dict[int, list[str]] = {}
    for fault in faults:
        if fault.line is not None:
            wrong.setdefault(fault.line, []).append(inert(fault.said))
    near = {
        number + offset
        for number in wrong
        for offset in range(-2, 3)
        if 1 <= number + offset <= len(lines)
    }
    return [
        (number, inert(lines[number - 1][:500]), wrong.get(number, [])) for number in sorted(near)
    ]


def _text_of(body: bytes) -> str:
    return body[:MAX_BODY_BYTES].decode("utf-8", "replace")


def _editable(text: str) -> str:
    """What a form can hold: no U+0000, no lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _short(value: Any) -> str:
    text = "—" if value is None else str(value)
    return text if len(text) <= 500 else f"{text[:499]}…"
