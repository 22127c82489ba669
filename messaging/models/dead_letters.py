"""What failed for good and waits for a person: the letters, their deaths, their corrections.

A letter is what one consumer could not handle, named by the SHA-256 of its body: however many
copies of it come out of the dead queue, there is one record of it.
"""

from collections.abc import Collection
from typing import Self
from uuid import UUID

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from messaging.running.inert_text import inert


class DeadLetterQuerySet(models.QuerySet["DeadLetter"]):
    def open(self) -> Self:
        return self.filter(state=DeadLetter.State.OPEN)

    def requeued(self) -> Self:
        return self.filter(state=DeadLetter.State.REQUEUED)

    def settled(self) -> Self:
        """Resolved or discarded: nothing is expected of anybody."""
        return self.filter(state__in=[DeadLetter.State.RESOLVED, DeadLetter.State.DISCARDED])

    def may_come_back(self) -> Self:
        """Copies of them may yet reach the consumer."""
        return self.exclude(state=DeadLetter.State.RESOLVED)

    def of_events(self, event_ids: Collection[UUID]) -> Self:
        """Those that died as, or were sent as, one of these events."""
        died, sent = models.Q(event_id__in=event_ids), models.Q(sent_event_id__in=event_ids)
        return self.filter(died | sent)

    def event_ids_among(self, event_ids: Collection[UUID]) -> set[UUID]:
        """Which of these events there are letters of."""
        found = self.of_events(event_ids).order_by().values_list("event_id", "sent_event_id")
        return {event_id for ids in found for event_id in ids if event_id} & set(event_ids)

    def without_payload(self) -> Self:
        """For lists: none of what may be megabytes."""
        return self.defer("body", "body_text", "header_table", "headers", "properties")


class DeadLetter(models.Model):
    """One message that one consumer could not handle, and what became of it.

    open -> requeued (a decision; the copy is on its way) -> resolved (its receipt is there), or
    open again (it died again). open -> discarded (a decision) -> open (restored). A failure is
    never hidden: a new death opens any letter again.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        REQUEUED = "requeued", _("Requeued")
        RESOLVED = "resolved", _("Resolved")
        DISCARDED = "discarded", _("Discarded")

    consumer = models.CharField(_("consumer"), max_length=64)
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    reason = models.CharField(
        max_length=100, help_text="The class of the failure; “unknown” where the copy names none."
    )
    error = models.CharField(max_length=1000, blank=True)
    place = models.CharField(
        max_length=200,
        blank=True,
        help_text="The innermost frame of our own in the traceback, or what could not be read.",
    )
    attempt = models.PositiveSmallIntegerField(null=True, blank=True)

    # Whatever of the fact can be read from the body, which may be no event at all.
    event_id = models.UUIDField(null=True, blank=True)
    type = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001 - absent, not ""
    material_id = models.CharField(  # noqa: DJ001 - absent, not ""
        max_length=64, null=True, blank=True
    )
    revision = models.BigIntegerField(null=True, blank=True)

    body = models.BinaryField(help_text="Exactly as it came; never changed, not by a correction.")
    body_sha256 = models.BinaryField(max_length=32)
    body_size = models.PositiveIntegerField()
    body_text = models.TextField(
        blank=True, help_text="The beginning of the body as text, for searching alone."
    )
    header_table = models.BinaryField(
        help_text="The headers of the latest death, as AMQP has them."
    )
    headers = models.JSONField(default=dict, blank=True, help_text="The same for people.")
    properties = models.JSONField(default=dict, blank=True)

    died_at = models.DateTimeField(help_text="When the latest of its deaths was.")
    first_died_at = models.DateTimeField()
    collected_at = models.DateTimeField(db_default=Now())
    copies = models.PositiveIntegerField(
        default=1, help_text="How many copies came since it was last opened."
    )
    deaths = models.PositiveIntegerField(
        default=1, help_text="How often it was opened: once, and again after each decision."
    )

    requeued_at = models.DateTimeField(null=True, blank=True, help_text="The latest of them.")
    sent_fingerprint = models.BinaryField(
        max_length=32,
        null=True,
        help_text="Of the event that the latest requeue sent; none where it is no event.",
    )
    sent_event_id = models.UUIDField(
        null=True, blank=True, help_text="Of the same event; a correction may name it alone."
    )
    correction = models.ForeignKey(
        "Correction",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The body that was sent, or died, last; none means the original.",
    )
    changed_at = models.DateTimeField(db_default=Now(), help_text="When the state last changed.")

    objects = DeadLetterQuerySet.as_manager()

    class Meta:
        verbose_name = _("dead letter")
        verbose_name_plural = _("dead letters")
        ordering = ["-died_at", "-id"]
        permissions = [
            ("view_payload", "Can see the body and headers of a dead letter"),
            ("requeue_deadletter", "Can requeue a dead letter"),
            ("correct_deadletter", "Can correct and requeue a dead letter"),
            ("discard_deadletter", "Can discard and restore a dead letter"),
            ("pause_delivery", "Can pause and resume a consumer or the relay"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["consumer", "body_sha256"], name="dead_letter_one_per_body"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["open", "requeued", "resolved", "discarded"]),
                name="dead_letter_state",
            ),
        ]
        indexes = [
            models.Index(
                fields=["-died_at", "-id"],
                condition=models.Q(state="open"),
                name="dead_letter_open",
            ),
            models.Index(
                fields=["id"],
                condition=models.Q(requeued_at__isnull=False, state__in=["open", "requeued"]),
                name="dead_letter_in_flight",
            ),
            models.Index(fields=["-died_at", "-id"], name="dead_letter_age"),
            models.Index(fields=["state", "-died_at", "-id"], name="dead_letter_by_state"),
            models.Index(
                fields=["consumer", "state", "-died_at", "-id"], name="dead_letter_by_consumer"
            ),
            models.Index(
                fields=["reason", "place", "state", "-died_at", "-id"],
                name="dead_letter_by_failure",
            ),
            # What the letters by failure tell: the first and the last of each group, ...
            models.Index(
                fields=["state", "consumer", "reason", "place", "died_at", "first_died_at"],
                name="dead_letter_groups",
            ),
            # ... the first of those that died again, ...
            models.Index(
                fields=["state", "consumer", "reason", "place", "first_died_at"],
                condition=models.Q(first_died_at__lt=models.F("died_at")),
                name="dead_letter_first",
            ),
            # ... and how many: PostgreSQL keeps a group's entries together, in a 25th of the space.
            models.Index(
                fields=["state", "consumer", "reason", "place"], name="dead_letter_counts"
            ),
            models.Index(fields=["event_id"], name="dead_letter_event"),
            models.Index(
                fields=["sent_event_id"],
                condition=models.Q(sent_event_id__isnull=False),
                name="dead_letter_sent_event",
            ),
            models.Index(fields=["material_id", "revision"], name="dead_letter_material"),
        ]

    def __str__(self) -> str:
        what = f"{self.material_id} r{self.revision}" if self.material_id else "unreadable"
        return inert(f"{self.consumer} {self.reason} {what}")

    @property
    def awaited_event_id(self) -> UUID | None:
        """The event that its consumer knows it by: what was sent last, or else what died."""
        return self.sent_event_id or self.event_id


class Death(models.Model):
    """One death of a letter, as one copy in the dead queue told of it."""

    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="history")
    died_at = models.DateTimeField()
    collected_at = models.DateTimeField(db_default=Now())
    reason = models.CharField(max_length=100)
    error = models.CharField(max_length=1000, blank=True)
    attempt = models.PositiveSmallIntegerField(null=True, blank=True)
    redelivered = models.BooleanField()
    header_table = models.BinaryField()
    mark = models.BinaryField(
        max_length=32, help_text="SHA-256 of the copy's properties and headers."
    )

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return inert(f"{self.reason} at {self.died_at:%Y-%m-%d %H:%M:%S}")


class Correction(models.Model):
    """A body that an operator sent in the place of a letter's own."""

    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="corrections")
    consumer = models.CharField(max_length=64)
    body = models.BinaryField()
    sha256 = models.BinaryField(max_length=32)
    operator = models.CharField(max_length=150)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            # So a copy that comes back belongs to one letter.
            models.UniqueConstraint(fields=["consumer", "sha256"], name="correction_one_per_body"),
        ]

    def __str__(self) -> str:
        return inert(f"correction by {self.operator}")
