"""The delivery records: what is to be sent, what was handled, what failed.

All states and uniqueness rules stand in the database; code that races is decided there.
"""

from typing import Self

from django.db import models
from django.db.models.functions import Now


class OutboxQuerySet(models.QuerySet["OutboxMessage"]):
    def pending(self) -> Self:
        return self.filter(state=OutboxMessage.State.PENDING)

    def failed(self) -> Self:
        return self.filter(state=OutboxMessage.State.FAILED)


class OutboxMessage(models.Model):
    """One message to hand to the broker, committed together with the change it tells of."""

    class State(models.TextChoices):
        PENDING = "pending"
        SENT = "sent"
        FAILED = "failed"

    event_id = models.UUIDField()
    type = models.CharField(max_length=100)
    material_id = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    body = models.BinaryField()
    headers = models.JSONField(default=dict, blank=True)
    consumer = models.CharField(
        max_length=64, blank=True, help_text="Redrive to this consumer alone; empty means all."
    )
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True, blank=True)

    objects = OutboxQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        verbose_name = "outbox message"
        permissions = [("retry_outboxmessage", "Can try a failed outbox message again")]
        constraints = [
            models.UniqueConstraint(
                fields=["event_id"], condition=models.Q(consumer=""), name="outbox_one_per_event"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["pending", "sent", "failed"]), name="outbox_state"
            ),
        ]
        indexes = [
            models.Index(
                fields=["id"], condition=models.Q(state="pending"), name="outbox_pending"
            ),
            models.Index(fields=["id"], condition=models.Q(state="failed"), name="outbox_failed"),
            models.Index(fields=["material_id", "revision"], name="outbox_material"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.material_id} r{self.revision}"


class RelayLease(models.Model):
    """Which relay leads. One row; owner and expiry by the database's clock."""

    name = models.CharField(max_length=32, primary_key=True)
    owner = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name}: {self.owner or 'free'}"


class InboxReceipt(models.Model):
    """Proof that one consumer handled one event, committed together with the effect."""

    class Outcome(models.TextChoices):
        APPLIED = "applied"
        STALE = "stale"

    consumer = models.CharField(max_length=64)
    event_id = models.UUIDField()
    type = models.CharField(max_length=100)
    material_id = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.APPLIED)
    fingerprint = models.BinaryField(max_length=32)
    content_fingerprint = models.BinaryField(
        max_length=32, help_text="The fingerprint without eventId and occurredAt."
    )
    names_revision = models.BooleanField(
        default=True, help_text="False on a second eventId for one material and revision."
    )
    duplicates = models.PositiveIntegerField(default=0)
    handled_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["consumer", "event_id"], name="inbox_once"),
            models.UniqueConstraint(
                fields=["consumer", "material_id", "revision"],
                condition=models.Q(names_revision=True),
                name="inbox_one_fact_per_revision",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.consumer} {self.event_id}"


class FailedAttempt(models.Model):
    """One failed attempt of one consumer at one event; the transient ones are its budget."""

    consumer = models.CharField(max_length=64)
    event_id = models.UUIDField()
    material_id = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    type = models.CharField(max_length=100)
    attempt = models.PositiveSmallIntegerField()
    transient = models.BooleanField()
    counted = models.BooleanField(
        default=True, help_text="False once a redrive has started a new budget."
    )
    error_class = models.CharField(max_length=100)
    error_text = models.CharField(max_length=1000, blank=True)
    traceback = models.TextField(blank=True)
    failed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["consumer", "event_id", "attempt"],
                condition=models.Q(transient=True, counted=True),
                name="failed_attempt_once",
            ),
        ]
        indexes = [models.Index(fields=["consumer", "event_id"], name="failed_attempt_fact")]

    def __str__(self) -> str:
        return f"{self.consumer} {self.event_id} attempt {self.attempt}"
