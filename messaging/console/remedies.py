"""Each problem in the reader's language, and what an operator does about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from messaging.console.spans import span
from messaging.operating.problems import Kind, Problem
from messaging.running.inert_text import inert


@dataclass(frozen=True)
class Advice:
    """`step` is what to do, and `url` the page where it is done; empty where there is none."""

    said: str
    step: str
    url: str = ""


def advise(problem: Problem) -> Advice:
    """What is wrong, and the next step."""
    named = {
        name: inert(value) if isinstance(value, str) else value
        for name, value in problem.named.items()
    }
    return _ADVICE[problem.kind](named)


_ADVICE: dict[Kind, Callable[[dict[str, Any]], Advice]] = {
    Kind.OUTBOX_FAILED: lambda named: Advice(
        ngettext(
            "The relay has given up %(count)d message of the outbox.",
            "The relay has given up %(count)d messages of the outbox.",
            named["count"],
        )
        % named,
        _("Mend what each row names, then try them again."),
        reverse("admin:messaging_outboxmessage_changelist") + "?state__exact=failed",
    ),
    Kind.OUTBOX_LATE: lambda named: Advice(
        ngettext(
            "%(count)d message waits in the outbox, for %(span)s already.",
            "%(count)d messages wait in the outbox, the oldest for %(span)s.",
            named["count"],
        )
        % {**named, "span": span(named["seconds"])},
        _("See that relay_outbox runs, that it is not paused, and that the broker answers."),
        reverse("admin:messaging_relaylease_changelist"),
    ),
    Kind.LETTERS_OPEN: lambda named: Advice(
        ngettext(
            "%(count)d dead letter is open and waits for a decision.",
            "%(count)d dead letters are open and wait for a decision.",
            named["count"],
        )
        % named,
        _("Decide over them: requeue, correct or discard."),
        reverse("admin:messaging_failures"),
    ),
    Kind.PAUSED: lambda named: Advice(
        _("%(target)s: paused by %(operator)s since %(since)s: %(reason)s") % named,
        _("Resume it once its reason is gone."),
        reverse("admin:messaging_pause_changelist") + "#pausing",
    ),
    Kind.PAUSED_UNTIL: lambda named: Advice(
        _("%(target)s: paused by %(operator)s since %(since)s until %(until)s: %(reason)s") % named,
        _("It goes on by itself then, or resume it now."),
        reverse("admin:messaging_pause_changelist") + "#pausing",
    ),
    Kind.QUEUE_MISSING: lambda named: Advice(
        _("The queue %(name)s is missing.") % named,
        _("Run declare_topology; what was in the queue is not brought back by it."),
    ),
    Kind.NO_CONSUMER: lambda named: Advice(
        _("Nobody takes anything from the queue %(name)s.") % named,
        _("Start its process: manage.py consume %s, or make up.")
        % named["name"].rpartition(".")[2],
    ),
    Kind.UNCOLLECTED: lambda named: Advice(
        ngettext(
            "%(count)d message lies in the queue %(name)s and is not collected.",
            "%(count)d messages lie in the queue %(name)s and are not collected.",
            named["count"],
        )
        % named,
        _("See that collect_dead_letters runs: it takes them within seconds."),
    ),
    Kind.BROKER: lambda named: Advice(
        _("The broker cannot be reached: %(said)s") % named,
        _("Start the broker, or mend AMQP_URL. Nothing is lost: the outbox keeps it."),
    ),
}
