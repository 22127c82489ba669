"""What an operator does about each problem that the status names."""

import re
from collections.abc import Callable

from django.urls import reverse
from django.utils.translation import gettext as _


def remedy(problem: str) -> tuple[str, str]:
    """The next step, and the address of the page where it is taken; empty where there is none."""
    for pattern, say in _REMEDIES:
        if re.search(pattern, problem):
            return say()
    return "", ""


_REMEDIES: tuple[tuple[str, Callable[[], tuple[str, str]]], ...] = (
    (
        r"^outbox: \d+ failed",
        lambda: (
            _("Mend what each row names, then try them again."),
            reverse("admin:messaging_outboxmessage_changelist") + "?state__exact=failed",
        ),
    ),
    (
        r"^outbox: the oldest",
        lambda: (
            _("See that relay_outbox runs, that it is not paused, and that the broker answers."),
            reverse("admin:messaging_relaylease_changelist"),
        ),
    ),
    (
        r"^dead letters:",
        lambda: (
            _("Decide over them: requeue, correct or discard."),
            reverse("admin:messaging_failures"),
        ),
    ),
    (r": paused by ", lambda: (_("Resume it below once its reason is gone."), "")),
    (
        r": missing",
        lambda: (_("Run declare_topology; what was in the queue is not brought back by it."), ""),
    ),
    (r": no consumer", lambda: (_("Start its process: manage.py consume, or make up."), "")),
    (
        r" dead, to be collected",
        lambda: (_("See that collect_dead_letters runs: it takes them within seconds."), ""),
    ),
    (
        r"^broker:",
        lambda: (
            _("Start the broker, or mend AMQP_URL. Nothing is lost: the outbox keeps it."),
            "",
        ),
    ),
)
