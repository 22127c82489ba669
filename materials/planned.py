"""The record of what is to be published or withdrawn at a set time."""

from typing import Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from materials.kept_sentences import translated


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def pending(self) -> Self:
        return self.filter(state=Schedule.State.PENDING)

    def told(self) -> Self:
        """What a page tells of: the pending, and what failed until that is noted or overtaken.

        A newer plan of the same act overtakes it, and so does a newer revision.
        """
        newer = Schedule.objects.filter(
            material=models.OuterRef("material"),
            act=models.OuterRef("act"),
            pk__gt=models.OuterRef("pk"),
        )
        failed = models.Q(state=Schedule.State.FAILED, noted_by="") & ~models.Exists(newer)
        overtaken = models.Q(
            state=Schedule.State.FAILED,
            material__revisions__happened_at__gt=models.F("settled_at"),
        )
        return self.filter(models.Q(state=Schedule.State.PENDING) | failed).exclude(overtaken)


class Schedule(models.Model):
    """One planned act: pending, then done, failed (with the sentence) or cancelled."""

    class Act(models.TextChoices):
        PUBLISH = "publish", _("publish")
        WITHDRAW = "withdraw", _("withdraw")

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    material = models.ForeignKey(
        "materials.Material",
        to_field="material_id",
        on_delete=models.CASCADE,
        related_name="schedules",
        db_index=False,  # the unique constraint and the index below begin with it
    )
    act = models.CharField(_("act"), max_length=8, choices=Act)
    due_at = models.DateTimeField(_("due at"))
    zone = models.CharField(
        _("time zone"), max_length=64, help_text=_("The time zone in which it was set.")
    )
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    version = models.PositiveBigIntegerField(
        _("version"),
        default=0,
        help_text=_("The draft's version that the planner saw; 0 where it was not kept."),
    )
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.PENDING)
    said = models.CharField(
        _("said of it"),
        max_length=500,
        blank=True,
        help_text=_("Why it failed, or who cancelled it."),
    )
    actor = models.CharField(
        _("actor"), max_length=150, help_text=_("Who planned it, by name, for ever.")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    noted_by = models.CharField(
        _("noted by"),
        max_length=150,
        blank=True,
        default="",
        db_default="",
        help_text=_("Who has seen that it failed, by name."),
    )
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    settled_at = models.DateTimeField(_("settled at"), null=True, blank=True)

    objects = ScheduleQuerySet.as_manager()

    class Meta:
        ordering = ["due_at", "id"]
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["material", "act"],
                condition=models.Q(state="pending"),
                name="schedule_one_pending_per_act",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["pending", "done", "failed", "cancelled"]),
                name="schedule_state",
            ),
            models.CheckConstraint(
                condition=models.Q(act__in=["publish", "withdraw"]), name="schedule_act"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state="pending"),
                name="schedule_due",
            ),
            models.Index(fields=["material", "-id"], name="schedule_by_material"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.material_id} at {self.due_at:%Y-%m-%d %H:%M:%S}"

    @property
    def when(self) -> str:
        """The moment in the zone in which it was set, which is named."""
        there = timezone.localtime(self.due_at, ZoneInfo(self.zone))
        return f"{date_format(there, gettext('j M Y, H:i:s'))} {self.zone}"

    @property
    def says(self) -> str:
        """Why it failed, or who cancelled it, for whoever reads it now."""
        return translated(self.said)
