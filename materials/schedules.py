"""Publishing and withdrawing at a set time: set, changed, cancelled, and carried out once.

A schedule is one row. Whoever carries it out holds that row for the transaction that also holds
the act, so the act and its end state stand or fall together: several runners, and one that was
stopped half-way, carry it out once.

A draft may be edited until then, and goes as it stands then: a plan keeps the version that its
planner saw, and another one goes only if whoever saved it last may publish.
"""

from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from materials import actions
from materials.content import reason_faults, tidied_reason
from materials.locking import lock, one_transaction
from materials.models import Material, Schedule, is_material_id
from materials.refusals import (
    ActionRefused,
    InvalidMaterial,
    NotScheduled,
    TryAgain,
    UnknownMaterial,
)
from messaging.storing.database_errors import is_busy

RIGHTS = {
    Schedule.Act.PUBLISH: "materials.publish_material",
    Schedule.Act.WITHDRAW: "materials.withdraw_material",
}


def plan(
    material_id: str,
    *,
    act: str,
    due_at: datetime,
    zone: str,
    user: User,
    reason: str = "",
    version: int | None = None,
) -> Schedule:
    """Set the time of the act, or change it where one is set already.

    `version` is the draft's version that the planner saw, the one that stands now if not given.
    Raises InvalidMaterial for the moment or the reason, UnknownMaterial.
    """
    reason = tidied_reason(reason) if act == Schedule.Act.WITHDRAW else ""
    faults = {"reason": reason_faults(reason)}
    if due_at <= timezone.now():
        faults["when"] = [_("That moment has passed. Give a later one.")]
    if any(faults.values()):
        raise InvalidMaterial({field: found for field, found in faults.items() if found})
    standing = _draft_version(material_id)
    values = {
        "due_at": due_at,
        "zone": zone,
        "reason": reason,
        "version": standing if version is None else min(version, standing),
        "actor": user.get_username(),
        "user": user,
    }
    with one_transaction():
        try:
            planned, _made = Schedule.objects.pending().update_or_create(
                material_id=material_id, act=act, defaults=values
            )
        except IntegrityError as error:
            raise TryAgain(_("Somebody set another time at this moment. Try again.")) from error
    return planned


def cancel(number: int, *, actor: str) -> Schedule:
    """Take a planned act back. Raises NotScheduled where it is done, failed or cancelled."""
    with one_transaction():
        planned = Schedule.objects.pending().select_for_update(of=("self",)).filter(pk=number)
        found = planned.select_related("material").first()
        if found is None:
            raise NotScheduled(_("That is not planned any more."))
        _settle(found, Schedule.State.CANCELLED, said=actor)
    return found


def note(number: int, *, actor: str) -> Schedule:
    """Keep that somebody has seen that it failed. Raises NotScheduled where it has not failed."""
    with one_transaction():
        failed = Schedule.objects.filter(pk=number, state=Schedule.State.FAILED)
        found = failed.select_for_update(of=("self",)).first()
        if found is None:
            raise NotScheduled(_("That has not failed."))
        found.noted_by = found.noted_by or actor
        found.save(update_fields=["noted_by"])
    return found


def carry_out_next(*, now: datetime, passing_over: Collection[int] = ()) -> Schedule | None:
    """Carry out the earliest that is due and that nobody else has in hand; None where none is.

    What is refused is kept as failed, with the sentence. Raises ScheduleBusy and ScheduleFailed,
    and the database's errors where it came to no plan: then nothing has changed.
    """
    due = Schedule.objects.pending().filter(due_at__lte=now).exclude(pk__in=passing_over)
    # Asked before, because on SQLite a transaction holds up all who write.
    if not due.exists():
        return None
    planned: Schedule | None = None
    try:
        with transaction.atomic():
            free = due.select_for_update(skip_locked=True, of=("self",))
            planned = free.order_by("due_at", "id").first()
            if planned is not None:
                _carry_out(planned)
    except Exception as error:
        if planned is None:
            raise
        if isinstance(error, TryAgain) or is_busy(error):
            raise ScheduleBusy(planned.pk) from error
        raise ScheduleFailed(planned.pk) from error
    return planned


def give_up(number: int, *, because: str) -> None:
    """Keep it as failed, for a reason that nobody foresaw; no matter where it is settled already.

    Raises TryAgain.
    """
    with one_transaction():
        pending = Schedule.objects.pending().select_for_update(of=("self",))
        planned = pending.filter(pk=number).first()
        if planned is not None:
            with translation.override("en"):
                said = _("This failed each time it was tried, at last with: %s") % because
            _settle(planned, Schedule.State.FAILED, said=said)


class ScheduleBusy(Exception):
    """Its material was in use for too long; `args[0]` is the schedule's number. Try later."""


class ScheduleFailed(Exception):
    """It failed for its `__cause__`, which nobody foresaw; `args[0]` is the schedule's number."""


def next_due(*, passing_over: Collection[int] = ()) -> datetime | None:
    """When the earliest planned act is due."""
    pending = Schedule.objects.pending().exclude(pk__in=passing_over)
    return pending.order_by("due_at", "id").values_list("due_at", flat=True).first()


def _carry_out(planned: Schedule) -> None:
    try:
        # Who will read why it failed is not known: materials.kept_sentences.
        with transaction.atomic(), translation.override("en"):
            _act(planned)
    except TryAgain:
        raise
    except ActionRefused as refusal:
        _settle(planned, Schedule.State.FAILED, said=str(refusal))
    else:
        _settle(planned, Schedule.State.DONE)


def _act(planned: Schedule) -> None:
    user = planned.user
    if user is None or not user.has_perm(RIGHTS[Schedule.Act(planned.act)]):
        raise NotScheduled(_("%s has no right to do this any more.") % planned.actor)
    if planned.act == Schedule.Act.PUBLISH:
        _refuse_draft_of_somebody_without_the_right(planned)
        actions.publish(planned.material_id, actor=planned.actor, user=user)
    else:
        actions.withdraw(planned.material_id, reason=planned.reason, actor=planned.actor, user=user)


def _refuse_draft_of_somebody_without_the_right(planned: Schedule) -> None:
    material = lock(planned.material_id)
    if material.version == planned.version:
        return
    author = User.objects.filter(username=material.updated_by).first()
    if author is None or not author.has_perm(RIGHTS[Schedule.Act.PUBLISH]):
        raise NotScheduled(
            _("%s changed the draft after this was planned and has no right to publish it.")
            % material.updated_by
        )


def _settle(planned: Schedule, state: str, *, said: str = "") -> None:
    planned.state = state
    planned.said = said[:500]
    planned.settled_at = timezone.now()
    planned.save(update_fields=["state", "said", "settled_at"])


def _draft_version(material_id: str) -> int:
    found = Material.objects.filter(material_id=material_id) if is_material_id(material_id) else ()
    for material in found:
        return material.version
    raise UnknownMaterial(_("There is no material “%s”.") % ascii(material_id)[1:-1])
