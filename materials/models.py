"""What editors own: materials with their drafts, and the facts published about them.

Written by `materials.actions` and, for many new ones at once, `materials.newcomers`; plans by
`materials.schedules`; searched by `materials.searching`. A draft stands apart from what is
published: readers' projections learn only of revisions, through events.
"""

import re
from typing import Self

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from materials.content import Content
from materials.planned import Schedule
from messaging.event.fields import MATERIAL_ID

__all__ = [
    "TEXTS",
    "Material",
    "MaterialQuerySet",
    "Revision",
    "Schedule",
    "is_material_id",
    "validate_material_id",
]

_MATERIAL_ID = re.compile(rf"\A{MATERIAL_ID}\Z")
validate_material_id = RegexValidator(
    _MATERIAL_ID.pattern,
    _(
        "Use 1 to 64 characters: small Latin letters, digits, “.”, “_” and “-”, "
        "the first one a letter or a digit."
    ),
)


def is_material_id(text: str) -> bool:
    """Whether the contract takes this as a material's id."""
    return bool(_MATERIAL_ID.search(text))


class MaterialQuerySet(models.QuerySet["Material"]):
    def locked(self) -> Self:
        """Rows held until the transaction ends; on SQLite the transaction itself is the lock."""
        return self.select_for_update(no_key=True)

    def without_texts(self) -> Self:
        """Without what no list shows: fifty rows of them could be 40 MB."""
        return self.defer(*TEXTS)


TEXTS = ("body", "summary", "search_key")


class Material(models.Model):
    """One material: its draft, its state, and the number of its last fact."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        PUBLISHED = "published", _("published")
        WITHDRAWN = "withdrawn", _("withdrawn")

    material_id = models.CharField(
        _("material"), max_length=64, unique=True, validators=[validate_material_id]
    )
    title = models.CharField(_("title"), max_length=200)
    summary = models.CharField(_("summary"), max_length=500, blank=True)
    body = models.TextField(_("body"), blank=True)
    language = models.CharField(_("language"), max_length=35, blank=True)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    version = models.PositiveBigIntegerField(
        _("version"), default=1, help_text=_("Grows with every change of the draft.")
    )
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.DRAFT)
    revision = models.BigIntegerField(
        _("revision"), default=0, help_text=_("Number of the last fact; 0 for none.")
    )
    differs = models.BooleanField(
        _("differs"), default=True, help_text=_("The draft is not what was last published.")
    )
    search_key = models.TextField(editable=False, default="")
    created_by = models.CharField(_("created by"), max_length=150)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    updated_by = models.CharField(_("changed by"), max_length=150)
    updated_at = models.DateTimeField(_("changed at"), default=timezone.now)

    objects = MaterialQuerySet.as_manager()

    class Meta:
        ordering = ["-updated_at", "-id"]
        verbose_name = _("material")
        verbose_name_plural = _("materials")
        default_permissions = ("add", "change", "view")
        permissions = [
            ("publish_material", "Can publish material"),
            ("withdraw_material", "Can withdraw material"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["draft", "published", "withdrawn"]),
                name="material_state",
            ),
            models.CheckConstraint(
                condition=models.Q(state="draft", revision=0)
                | (~models.Q(state="draft") & models.Q(revision__gte=1)),
                name="material_has_facts_once_published",
            ),
            models.CheckConstraint(condition=~models.Q(material_id=""), name="material_id_given"),
            models.CheckConstraint(condition=~models.Q(title=""), name="material_title_given"),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("material_id"), 64), name="material_id_length"
            ),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("title"), 200), name="material_title_length"
            ),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("summary"), 500), name="material_summary_length"
            ),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("body"), 200_000), name="material_body_length"
            ),
        ]
        indexes = [
            models.Index(fields=["-updated_at", "-id"], name="material_newest"),
            models.Index(fields=["state", "-updated_at", "-id"], name="material_by_state"),
            models.Index(fields=["language", "-updated_at", "-id"], name="material_by_language"),
            models.Index(fields=["updated_by", "-updated_at", "-id"], name="material_by_author"),
            models.Index(fields=["title", "material_id"], name="material_by_title"),
            # The state is no condition: as a parameter it would hide the index from SQLite.
            models.Index(
                fields=["state", "-updated_at", "-id"],
                condition=models.Q(differs=True),
                name="material_changed",
            ),
        ]

    def __str__(self) -> str:
        return self.material_id

    @property
    def content(self) -> Content:
        """The draft."""
        return _content_of(self)

    def published_content(self) -> Content | None:
        """What readers are meant to see now; None while that is nothing. One query."""
        if self.state != self.State.PUBLISHED:
            return None
        return self.revisions.get(number=self.revision).content


class Revision(models.Model):
    """One fact about a material: what was published, or why it was withdrawn. Never changes."""

    class Kind(models.TextChoices):
        PUBLISHED = "published", _("published")
        WITHDRAWN = "withdrawn", _("withdrawn")

    material = models.ForeignKey(
        Material,
        to_field="material_id",
        on_delete=models.PROTECT,
        related_name="revisions",
        db_index=False,  # the unique constraint below begins with it
    )
    number = models.BigIntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=9, choices=Kind)
    title = models.CharField(_("title"), max_length=200, blank=True)
    summary = models.CharField(_("summary"), max_length=500, blank=True)
    body = models.TextField(_("body"), blank=True)
    language = models.CharField(_("language"), max_length=35, blank=True)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor = models.CharField(
        _("actor"), max_length=150, help_text=_("Who did it, by name, for ever.")
    )
    happened_at = models.DateTimeField(_("happened at"))
    event_id = models.UUIDField(_("event"), unique=True)

    class Meta:
        ordering = ["-number"]
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["material", "number"], name="revision_once_per_material"
            ),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="revision_number"),
            models.CheckConstraint(
                condition=(models.Q(kind="published", reason="") & ~models.Q(title=""))
                | models.Q(kind="withdrawn", title="", summary="", body=""),
                name="revision_published_or_withdrawn",
            ),
            models.CheckConstraint(condition=~models.Q(actor=""), name="revision_actor_given"),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("reason"), 500), name="revision_reason_length"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.material_id} r{self.number} {self.kind}"

    @property
    def content(self) -> Content:
        """What was published; empty for a withdrawal."""
        return _content_of(self)


def _content_of(row: Material | Revision) -> Content:
    return Content(
        title=row.title,
        summary=row.summary,
        body=row.body,
        language=row.language,
        tags=tuple(row.tags),
    )
