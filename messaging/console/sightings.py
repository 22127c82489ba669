"""Looks at payloads, each in the decision log before anything is shown.

No mark tells which bodies hold personal data, so every look at a body counts.
"""

from collections.abc import Mapping

from django.db import DEFAULT_DB_ALIAS, Error
from django.http import HttpRequest

from messaging.console.rights import VIEW_PAYLOAD, operator_of
from messaging.errors import TransientError
from messaging.models import DeadLetter, OperatorDecision
from messaging.operating.decision_log import entry
from messaging.storing.patient_transactions import in_one_transaction


def may_see_payload(
    request: HttpRequest,
    letter: DeadLetter | None = None,
    *,
    where: str,
    of: Mapping[str, object] | None = None,
) -> bool:
    """Whether this person may see it now; if so, it has been written down.

    `of` names what was looked at where it is no letter. False also where the log cannot be
    written: unseen rather than unlogged.
    """
    if not request.user.has_perm(VIEW_PAYLOAD):
        return False
    line = entry(
        OperatorDecision.Action.VIEW_PAYLOAD,
        operator_of(request),
        letter=letter,
        detail={"where": where, **(of or {})},
    )
    using = (letter._state.db if letter else None) or DEFAULT_DB_ALIAS
    try:
        in_one_transaction(lambda: line.save(using=using), using=using)
    except (Error, TransientError):
        return False
    return True
