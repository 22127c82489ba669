"""A letter's failure in one sentence, and what each decision over it would do."""

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from messaging.errors import FactConflict, SimulatedTransientError
from messaging.letters.redrives import Redrive
from messaging.letters.standing import Kind, Standing
from messaging.models import DeadLetter
from messaging.running.inert_text import inert


def story(letter: DeadLetter) -> str:
    """What happened, in one sentence. Uses no payload but the ids that were read from it."""
    error = inert(letter.error).rstrip(".")
    tries = 1 + (letter.attempt or 0)
    words = {
        "consumer": letter.consumer,
        "what": what(letter),
        "reason": inert(letter.reason),
        "because": f": {error}" if error else "",
        "tries": tries,
    }
    match letter.reason:
        case "MalformedEvent":
            return _("%(consumer)s could not read %(what)s%(because)s.") % words
        case "UnsupportedEvent":
            return (
                _("%(consumer)s does not know this kind or version of %(what)s%(because)s.") % words
            )
        case "InvalidAttempt":
            return (
                _("%(consumer)s put %(what)s aside, as its attempt header is wrong%(because)s.")
                % words
            )
        case "FactConflict":
            return (
                _("%(consumer)s refused %(what)s: another fact stands in its place%(because)s.")
                % words
            )
    if not letter.attempt:
        said = _("%(consumer)s failed at %(what)s with %(reason)s%(because)s.")
        return said % words
    said = ngettext(
        "%(consumer)s tried %(what)s %(tries)d time and gave up, at last with "
        "%(reason)s%(because)s.",
        "%(consumer)s tried %(what)s %(tries)d times and gave up, at last with "
        "%(reason)s%(because)s.",
        tries,
    )
    return said % words


def what(letter: DeadLetter) -> str:
    """The fact that the letter is about, as far as its body told."""
    if letter.material_id is None:
        return inert(letter.type) if letter.type else _("a message that names no fact")
    revision = "" if letter.revision is None else f" r{letter.revision}"
    return f"{inert(letter.type or '')} {inert(letter.material_id)}{revision}".strip()


def standing_said(standing: Standing) -> str:
    """Where the projection stands towards the letter."""
    match standing.kind:
        case Kind.ALREADY_APPLIED:
            return _("Already applied: this very fact has its receipt. Requeueing changes nothing.")
        case Kind.SUPERSEDED:
            return _("Superseded by revision %s: requeueing would change nothing.") % (
                standing.revision
            )
        case Kind.WOULD_APPLY:
            return _("Would apply: nothing newer is known of this material.")
        case Kind.CONFLICTS:
            return _("Conflicts: another fact has its eventId or its revision, and stands.")
        case Kind.NO_CONSUMER:
            return _("There is no such consumer any longer.")
    return _("Cannot be read: nothing can be told of it.")


def simulation_said(letter: DeadLetter) -> str:
    """What SIMULATE_TEMPORARY makes of a requeue, which neither receipts nor a dry run tell."""
    if letter.material_id in settings.SIMULATE_TEMPORARY:
        return _(
            "SIMULATE_TEMPORARY names %(material)s here: a consumer that runs with it fails at "
            "each attempt, before it changes anything, whatever is told here. Requeue the letter "
            "once the consumer runs without it."
        ) % {"material": inert(letter.material_id)}
    if letter.reason == SimulatedTransientError.__name__:
        return _(
            "The failure was made by SIMULATE_TEMPORARY in the consumer's process. Whether it is "
            "still set there is not known here; while it is, the letter dies again."
        )
    return ""


def requeue_consequence(redrive: Redrive) -> str:
    """What a click on requeue does."""
    if said := redrive.why_impossible():
        return said
    return _(
        "The same %(bytes)d bytes go to %(consumer)s alone, with a new budget of attempts. The "
        "letter is settled once its receipt is there, and open again if it dies again."
    ) % {"bytes": len(redrive.body), "consumer": redrive.letter.consumer}


def in_vain(redrive: Redrive) -> str:
    """Why a requeue cannot help; empty where it can."""
    said = "" if redrive.why_impossible() else redrive.why_in_vain()
    return f"{said}." if said and not said.endswith(".") else said


# What a requeue alone mends only after the code has learned something.
SELDOM_HELPED = ("MalformedEvent", "UnsupportedEvent", FactConflict.__name__)
