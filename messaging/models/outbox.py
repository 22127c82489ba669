"""What is to be sent, and who sends it."""

from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class OutboxQuerySet(models.QuerySet["OutboxMessage"]):
    def pending(self) -> Self:
        return self.filter(state=OutboxMessage.State.PENDING)

    def failed(self) -> Self:
        return self.filter(state=OutboxMessage.State.FAILED)


class OutboxMessage(models.Model):
    """One message to hand to the broker, committed together with the change it tells of."""

    class State(models.TextChoices):
        PENDING = "pending", _("Pending")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")

    # A redriven dead letter may be no event: then there is no id, type, material or revision.
    event_id = models.UUIDField(_("event"), null=True, blank=True)
    message_id = models.CharField(
        _("message"), max_length=255, blank=True, help_text=_("Sent where there is no event id.")
    )
    type = models.CharField(_("type"), max_length=255, blank=True)
    material_id = models.CharField(_("material"), max_length=64, blank=True)
    revision = models.BigIntegerField(_("revision"), null=True, blank=True)
    body = models.BinaryField()
    header_table = models.BinaryField(
        default=b"", help_text="An AMQP table of headers to send; `attempt` is always added."
    )
    letter = models.ForeignKey(
        "messaging.DeadLetter",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="redrives",
        verbose_name=_("letter"),
        help_text=_("The dead letter that is sent again."),
    )
    consumer = models.CharField(
        _("consumer"),
        max_length=64,
        blank=True,
        help_text=_("Redrive to this consumer alone; empty means all."),
    )
    bulk = models.BooleanField(
        _("one of many"),
        default=False,
        db_default=False,
        help_text=_("Part of a large action: goes after what somebody waits for."),
    )
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("recorded at"), db_default=Now())
    due_at = models.DateTimeField(_("due at"), db_default=Now())
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)

    objects = OutboxQuerySet.as_manager()

    class Meta:
        verbose_name = _("outbox message")
        verbose_name_plural = _("outbox messages")
        ordering = ["id"]
        permissions = [("retry_outboxmessage", "Can try a failed outbox message again")]
        constraints = [
            models.UniqueConstraint(
                fields=["event_id"], condition=models.Q(consumer=""), name="outbox_one_per_event"
            ),
            # A letter is on its way once, however often it is requeued.
            models.UniqueConstraint(
                fields=["letter"],
                condition=models.Q(letter__isnull=False, state__in=["pending", "failed"]),
                name="outbox_one_unsent_redrive",
            ),
            models.CheckConstraint(
                condition=~models.Q(consumer="")
                | models.Q(event_id__isnull=False, revision__isnull=False),
                name="outbox_fact_is_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["pending", "sent", "failed"]), name="outbox_state"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(state="pending"), name="outbox_pending"),
            # The two lanes, each from its oldest without a walk through the other.
            models.Index(
                fields=["id"],
                condition=models.Q(state="pending", bulk=False),
                name="outbox_urgent",
            ),
            models.Index(
                fields=["id"], condition=models.Q(state="pending", bulk=True), name="outbox_bulk"
            ),
            # What of the same material has to go first.
            models.Index(
                fields=["material_id", "id"],
                condition=models.Q(state="pending"),
                name="outbox_in_order",
            ),
            # Looked at twice a second, also in front of a long backlog of rows never tried.
            models.Index(
                fields=["id"],
                condition=models.Q(state="pending", attempts__gt=0),
                name="outbox_tried",
            ),
            models.Index(fields=["id"], condition=models.Q(state="failed"), name="outbox_failed"),
            models.Index(fields=["material_id", "revision"], name="outbox_material"),
            # What is sent again, by its event; facts have their unique index.
            models.Index(
                fields=["event_id"], condition=~models.Q(consumer=""), name="outbox_sent_again"
            ),
        ]

    def __str__(self) -> str:
        if self.event_id is None:
            return f"redrive to {self.consumer}"
        return f"{self.type} {self.material_id} r{self.revision}"


class RelayLease(models.Model):
    """Which relay leads. One row; owner and expiry by the database's clock."""

    name = models.CharField(_("name"), max_length=32, primary_key=True)
    owner = models.CharField(_("owner"), max_length=64, blank=True)
    expires_at = models.DateTimeField(_("runs out at"), db_default=Now())

    class Meta:
        verbose_name = _("relay lease")
        verbose_name_plural = _("relay leases")

    def __str__(self) -> str:
        return f"{self.name}: {self.owner or 'free'}"
