"""What has been received, fact by fact, written by the audit consumer alone."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class AuditRecord(models.Model):
    """One event, with its envelope exactly as received.

    The order of arrival is the order of ids. Two consumers at work take their ids before they
    commit, so a record may appear below one with a higher id that was already to be seen.
    """

    id = models.BigAutoField(primary_key=True)
    event_id = models.UUIDField(_("event"), unique=True)
    type = models.CharField(_("type"), max_length=100)
    material_id = models.CharField(_("material"), max_length=64)
    revision = models.BigIntegerField(_("revision"))
    occurred_at = models.DateTimeField(_("occurred"))
    received_at = models.DateTimeField(
        _("received"), db_default=Now(), help_text=_("By the database's clock.")
    )
    actor = models.CharField(
        _("actor"), max_length=150, blank=True, help_text=_("Empty: not said.")
    )
    # Text and not JSON: the database would reorder keys and rewrite numbers.
    envelope = models.TextField(help_text="The JSON text, character by character.")

    class Meta:
        db_table = "audit_record"
        ordering = ["id"]
        verbose_name = _("audit record")
        verbose_name_plural = _("audit records")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(revision__gte=1), name="audit_revision_from_one"
            ),
        ]
        indexes = [models.Index(fields=["material_id", "id"], name="audit_material")]

    def __str__(self) -> str:
        return f"{self.type} {self.material_id} r{self.revision}"
