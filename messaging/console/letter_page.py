"""One letter: the failure's story, the evidence, where things stand, and what can be done."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseForbidden
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from messaging import registry
from messaging.console import payload, stories
from messaging.console.letter_history import history_of, views_of
from messaging.console.rights import VIEW, VIEW_PAYLOAD, needs, page
from messaging.console.sightings import may_see_payload
from messaging.letters import redrives
from messaging.letters.standing import Kind, standing
from messaging.models import DeadLetter, FailedAttempt, InboxReceipt, OutboxMessage
from messaging.read_only_admin import as_row_id
from messaging.running.inert_text import inert, inert_block

MOST_ROWS = 50
SILENCE = timedelta(minutes=2)


@dataclass(frozen=True)
class Fact:
    """A fact of the letter's material as the source and this consumer know it."""

    revision: int | None
    type: str
    event_id: str
    is_this: bool
    sent: str
    outcome: str
    handled_at: Any


@require_safe
@needs(VIEW)
def show_letter(request: HttpRequest, object_id: str) -> HttpResponse:
    """Everything about one letter; changes nothing but the log of who saw the body."""
    letter = find_letter(unquote(object_id))
    seen = may_see_payload(request, letter, where="page")
    redrive = redrives.prepare(letter)
    waiting = redrives.unsent([letter.pk], using=letter._state.db or "default").get(letter.pk)
    body = bytes(letter.body)
    correction = letter.correction
    stands = standing(letter)
    in_vain = stories.in_vain(redrive)
    context: dict[str, Any] = {
        "opts": DeadLetter._meta,
        "letter": letter,
        "what": stories.what(letter),
        "story": stories.story(letter),
        "standing": stories.standing_said(stands),
        "simulated": stories.simulation_said(letter),
        "standing_kind": stands.kind.replace(" ", "-"),
        "redrive": waiting,
        "redrive_parked": waiting is not None and waiting.state == OutboxMessage.State.FAILED,
        "consequence": stories.requeue_consequence(redrive),
        "impossible": redrive.why_impossible(),
        "in_vain": in_vain,
        "helps": stands.kind is Kind.WOULD_APPLY and not in_vain,
        "changes_nothing": stands.kind in (Kind.ALREADY_APPLIED, Kind.SUPERSEDED),
        "seems_lost": _seems_lost(letter, waiting),
        "can_requeue": letter.state == DeadLetter.State.OPEN or _is_parked(letter, waiting),
        "can_discard": letter.state == DeadLetter.State.OPEN or _is_parked(letter, waiting),
        "can_restore": letter.state == DeadLetter.State.DISCARDED,
        "attempts": _attempts(letter, tracebacks=seen),
        "deaths": letter.history.defer("header_table", "mark")[:MOST_ROWS],
        "facts": _facts(letter),
        "others": _others(letter),
        "history": history_of(letter, with_differences=seen),
        "views": views_of(letter),
        "seen": seen,
    }
    if seen:
        context |= {
            "pretty": payload.pretty(body),
            "raw": payload.raw(body),
            "correction": payload.raw(bytes(correction.body)) if correction else None,
            "corrected_by": correction.operator if correction else "",
            "headers": payload.pairs(letter.headers),
            "properties": payload.pairs(letter.properties),
        }
    title = _("Letter %(id)d of %(consumer)s") % {"id": letter.pk, "consumer": letter.consumer}
    return render(
        request, "admin/messaging/deadletter/letter.html", page(request, title, **context)
    )


@require_safe
@needs(VIEW, VIEW_PAYLOAD)
def download_body(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The whole body, byte for byte, as a file that no browser interprets."""
    letter = find_letter(letter_id)
    if not may_see_payload(request, letter, where="download"):
        return HttpResponseForbidden(_("The log of looks cannot be written now: try again."))
    return HttpResponse(
        bytes(letter.body),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="letter-{letter.pk}.bin"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


def find_letter(letter_id: str | int) -> DeadLetter:
    """The letter of that number. Raises Http404."""
    number = as_row_id(str(letter_id))
    if number is not None:
        letters = DeadLetter.objects.defer("body_text", "header_table")
        letter = letters.select_related("correction").filter(pk=number).first()
        if letter is not None:
            return letter
    raise Http404(_("There is no such letter."))


def _is_parked(letter: DeadLetter, waiting: OutboxMessage | None) -> bool:
    parked = waiting is not None and waiting.state == OutboxMessage.State.FAILED
    return letter.state == DeadLetter.State.REQUEUED and parked


def _seems_lost(letter: DeadLetter, waiting: OutboxMessage | None) -> bool:
    """Whether its copy left the outbox long ago and nothing has been heard of it since."""
    if letter.state != DeadLetter.State.REQUEUED or waiting is not None:
        return False
    return letter.requeued_at is None or timezone.now() - letter.requeued_at > SILENCE


def _attempts(letter: DeadLetter, *, tracebacks: bool) -> list[dict[str, Any]]:
    """The failed tries of this event by this consumer; a traceback may quote the payload."""
    if letter.awaited_event_id is None:
        return []
    consumer = {each.name: each for each in registry.consumers()}.get(letter.consumer)
    using = consumer.database if consumer else letter._state.db or "default"
    rows = FailedAttempt.objects.using(using)
    found = rows.filter(consumer=letter.consumer, event_id=letter.awaited_event_id).order_by("-pk")
    return [
        {
            "number": each.attempt + 1,
            "at": each.failed_at,
            "reason": inert(each.error_class),
            "error": inert(each.error_text),
            "transient": each.transient,
            "counted": each.counted,
            "traceback": _block(each.traceback) if tracebacks else "",
        }
        for each in found[:MOST_ROWS]
    ]


def _block(text: str) -> str:
    data = text.encode("utf-8", "backslashreplace")
    return inert_block(data, limit_bytes=payload.SHOWN_BYTES)


def _facts(letter: DeadLetter) -> list[Fact]:
    """What else is known of the material: the newest facts that were recorded here, and what
    this consumer did with each."""
    if letter.material_id is None:
        return []
    sent = OutboxMessage.objects.filter(material_id=letter.material_id, consumer="")
    rows = sent.order_by("-revision", "-pk").values("event_id", "type", "revision", "state")
    consumer = {each.name: each for each in registry.consumers()}.get(letter.consumer)
    receipts = InboxReceipt.objects.using(consumer.database if consumer else "default").filter(
        consumer=letter.consumer, material_id=letter.material_id
    )
    handled = {each.event_id: each for each in receipts.order_by("-revision", "-pk")[:MOST_ROWS]}
    facts: dict[Any, Fact] = {}
    for row in rows[:MOST_ROWS]:
        receipt = handled.get(row["event_id"]) if row["event_id"] else None
        facts[row["event_id"]] = Fact(
            row["revision"],
            row["type"],
            str(row["event_id"]),
            row["event_id"] == letter.awaited_event_id,
            str(OutboxMessage.State(row["state"]).label),
            str(receipt.get_outcome_display()) if receipt else "",
            receipt.handled_at if receipt else None,
        )
    for event_id, receipt in handled.items():
        facts.setdefault(
            event_id,
            Fact(
                receipt.revision,
                receipt.type,
                str(event_id),
                event_id == letter.awaited_event_id,
                "",
                str(receipt.get_outcome_display()),
                receipt.handled_at,
            ),
        )
    return sorted(facts.values(), key=lambda fact: fact.revision or 0, reverse=True)[:MOST_ROWS]


def _others(letter: DeadLetter) -> list[DeadLetter]:
    """Other letters about the same material, of any consumer."""
    if letter.material_id is None:
        return []
    letters = DeadLetter.objects.without_payload().filter(material_id=letter.material_id)
    return list(letters.exclude(pk=letter.pk).order_by("-died_at", "-pk")[:10])
