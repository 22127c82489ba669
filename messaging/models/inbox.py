"""What one consumer has handled, and what it could not handle yet."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class InboxReceipt(models.Model):
    """Proof that one consumer handled one event, committed together with the effect."""

    class Outcome(models.TextChoices):
        APPLIED = "applied", _("Applied")
        STALE = "stale", _("Stale")

    consumer = models.CharField(_("consumer"), max_length=64)
    event_id = models.UUIDField(_("event"))
    type = models.CharField(_("type"), max_length=100)
    material_id = models.CharField(_("material"), max_length=64)
    revision = models.BigIntegerField(_("revision"))
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome, default=Outcome.APPLIED)
    fingerprint = models.BinaryField(max_length=32)
    content_fingerprint = models.BinaryField(
        max_length=32, help_text="The fingerprint without eventId and occurredAt."
    )
    names_revision = models.BooleanField(
        _("first for its revision"),
        default=True,
        help_text=_("False on a second eventId for one material and revision."),
    )
    duplicates = models.PositiveIntegerField(_("duplicates"), default=0)
    handled_at = models.DateTimeField(_("handled at"), db_default=Now())

    class Meta:
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["consumer", "event_id"], name="inbox_once"),
            models.UniqueConstraint(
                fields=["consumer", "material_id", "revision"],
                condition=models.Q(names_revision=True),
                name="inbox_one_fact_per_revision",
            ),
        ]
        indexes = [
            # What the constraint leaves out, to be found by its material.
            models.Index(
                fields=["material_id"],
                condition=models.Q(names_revision=False),
                name="inbox_second_facts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.consumer} {self.event_id}"


class FailedAttempt(models.Model):
    """One failed attempt of one consumer at one event; the transient ones are its budget."""

    consumer = models.CharField(_("consumer"), max_length=64)
    event_id = models.UUIDField(_("event"))
    material_id = models.CharField(_("material"), max_length=64)
    revision = models.BigIntegerField(_("revision"))
    type = models.CharField(_("type"), max_length=100)
    attempt = models.PositiveSmallIntegerField(_("attempt"))
    transient = models.BooleanField(_("transient"))
    counted = models.BooleanField(
        _("counted"),
        default=True,
        help_text=_("False once a redrive has started a new budget."),
    )
    error_class = models.CharField(_("failure"), max_length=100)
    error_text = models.CharField(_("error"), max_length=1000, blank=True)
    traceback = models.TextField(blank=True)
    failed_at = models.DateTimeField(_("failed at"), db_default=Now())

    class Meta:
        verbose_name = _("failed attempt")
        verbose_name_plural = _("failed attempts")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["consumer", "event_id", "attempt"],
                condition=models.Q(transient=True, counted=True),
                name="failed_attempt_once",
            ),
        ]
        indexes = [
            models.Index(fields=["consumer", "event_id"], name="failed_attempt_fact"),
            models.Index(fields=["material_id"], name="failed_attempt_material"),
        ]

    def __str__(self) -> str:
        return f"{self.consumer} {self.event_id} attempt {self.attempt}"
