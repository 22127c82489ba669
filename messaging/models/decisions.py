"""The decision log: what was decided, by whom, when, from where and why.

A row is written in the transaction of what it tells of, and never changed. It is deleted with
its letter, or with its batch where it tells of no letter, by `prune_delivery`.
"""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from messaging.models.dead_letters import DeadLetter
from messaging.running.inert_text import inert


class OperatorBatch(models.Model):
    """One decision over many letters at once: who took it, over which, and how far it got."""

    action = models.CharField(max_length=32)
    operator = models.CharField(max_length=150)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    note = models.TextField(blank=True)
    source_ip = models.GenericIPAddressField(null=True, blank=True)
    filters = models.JSONField(default=dict, blank=True)
    matched = models.PositiveIntegerField(_("matched"), default=0)
    done = models.PositiveIntegerField(_("done"), default=0)
    refused = models.PositiveIntegerField(_("refused"), default=0)
    created_at = models.DateTimeField(_("decided at"), db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    # In the background: carried out by `carry_out_batches`, wherever it left off.
    in_background = models.BooleanField(default=False)
    force = models.BooleanField(default=False)
    last_done_id = models.BigIntegerField(default=0, help_text="Letters up to it are done.")
    newest_id = models.BigIntegerField(default=0, help_text="Letters that came later are left out.")
    started_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.CharField(max_length=150, blank=True)
    by_account = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Begun by somebody signed in, who needs the right until it is done.",
    )
    ended_because = models.CharField(
        max_length=500, blank=True, help_text="Why it was given up; empty where it was not."
    )
    refusals = models.JSONField(
        default=list, blank=True, help_text="The first of them: letter and why."
    )

    class Meta:
        verbose_name = _("large action")
        verbose_name_plural = _("large actions")
        ordering = ["-id"]

    def __str__(self) -> str:
        return inert(f"{self.action} of {self.matched} letters by {self.operator}")


class OperatorDecision(models.Model):
    """One line of the log. Delivery itself writes what it found: resolved, died again."""

    class Action(models.TextChoices):
        REQUEUE = "requeue", _("Requeue")
        CORRECT = "correct", _("Correct")
        DISCARD = "discard", _("Discard")
        RESTORE = "restore", _("Restore")
        VIEW_PAYLOAD = "view_payload", _("View payload")
        RETRY_OUTBOX = "retry_outbox", _("Retry outbox")
        PAUSE = "pause", _("Pause")
        RESUME = "resume", _("Resume")
        BEGIN_BATCH = "begin_batch", _("Begin large action")
        CANCEL_BATCH = "cancel_batch", _("Cancel large action")
        RESOLVED = "resolved", _("Resolved")
        DIED_AGAIN = "died_again", _("Died again")

    letter = models.ForeignKey(
        DeadLetter,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="decisions",
        verbose_name=_("letter"),
    )
    batch = models.ForeignKey(
        OperatorBatch,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="decisions",
        verbose_name=_("large action"),
    )
    action = models.CharField(_("action"), max_length=32, choices=Action)
    operator = models.CharField(
        _("operator"),
        max_length=150,
        help_text=_("The name at that time; “delivery” for what nobody decided."),
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        verbose_name=_("account"),
    )
    at = models.DateTimeField(_("moment"), db_default=Now())
    note = models.TextField(_("why"), blank=True)
    source_ip = models.GenericIPAddressField(_("address"), null=True, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ["-id"]
        indexes = [models.Index(fields=["-at"], name="decision_at")]

    def __str__(self) -> str:
        return inert(f"{self.action} by {self.operator}")
