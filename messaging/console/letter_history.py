"""What was decided over a letter, and who has looked at its body."""

from typing import Any

from django.db.models import Count, Max
from django.utils.translation import gettext as _

from messaging.models import DeadLetter, OperatorDecision
from messaging.running.inert_text import inert, inert_block

MOST_LINES = 200
_DIFF_BYTES = 64 * 1024
_SEEN = OperatorDecision.Action.VIEW_PAYLOAD


def history_of(letter: DeadLetter, *, with_differences: bool) -> list[dict[str, Any]]:
    """The decisions, the newest first, without the looks. A difference quotes the payload."""
    lines = letter.decisions.exclude(action=_SEEN).order_by("-pk")[:MOST_LINES]
    return [
        {
            "at": line.at,
            "action": _ACTIONS[line.action]() if line.action in _ACTIONS else line.action,
            "operator": inert(line.operator),
            "source_ip": line.source_ip or "",
            "note": inert(line.note),
            "batch_id": line.batch_id,
            "detail": _said(line.detail),
            "difference": _difference(line.detail) if with_differences else "",
        }
        for line in lines
    ]


def views_of(letter: DeadLetter) -> list[dict[str, Any]]:
    """Who has seen the body, how often, and when last."""
    looks = letter.decisions.filter(action=_SEEN).order_by()
    rows = looks.values("operator").annotate(times=Count("pk"), last=Max("at"))
    return [dict(row) for row in rows.order_by("-last")[:MOST_LINES]]


_ACTIONS = {
    "requeue": lambda: _("requeued"),
    "correct": lambda: _("corrected and requeued"),
    "discard": lambda: _("discarded"),
    "restore": lambda: _("restored"),
    "resolved": lambda: _("resolved"),
    "died_again": lambda: _("died again"),
}


def _said(detail: dict[str, Any]) -> str:
    shown = {name: value for name, value in detail.items() if name not in ("diff", "sha256")}
    return inert(", ".join(f"{name}: {value}" for name, value in shown.items()))


def _difference(detail: dict[str, Any]) -> str:
    text = str(detail.get("diff") or "")
    return inert_block(text.encode("utf-8", "backslashreplace"), limit_bytes=_DIFF_BYTES)
