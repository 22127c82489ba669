"""What stands still because a person said so."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from messaging.running.inert_text import inert


class PauseQuerySet(models.QuerySet["Pause"]):
    def active(self) -> Self:
        """Those that have not ended by themselves, by the database's clock."""
        return self.filter(models.Q(until__isnull=True) | models.Q(until__gt=Now()))


class Pause(models.Model):
    """One target stands still, in all its processes, until somebody resumes it or the time is over.

    The target is a consumer's name, or the relay's (`messaging.registry.RELAY`).
    """

    target = models.CharField(max_length=64, unique=True)
    reason = models.CharField(max_length=500)
    operator = models.CharField(max_length=150)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    since = models.DateTimeField(db_default=Now())
    until = models.DateTimeField(null=True, blank=True, help_text="None: until it is resumed.")

    objects = PauseQuerySet.as_manager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ["target"]

    def __str__(self) -> str:
        return inert(f"{self.target} paused by {self.operator}")
