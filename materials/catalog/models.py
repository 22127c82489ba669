"""What readers see: one row a material, written by the catalog's consumer alone."""

import json
import re
from typing import Self

from django.db import connections, models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import get_language_info
from django.utils.translation import gettext_lazy as _

from messaging.event.fields import MATERIAL_ID


class CatalogQuerySet(models.QuerySet["CatalogEntry"]):
    def published(self) -> Self:
        """What is public, the newest first, in one fixed order."""
        return self.filter(visible=True).order_by("-published_at", "material_id")

    def find(self, material_id: str) -> "CatalogEntry | None":
        """The entry of that material; None also for what cannot be a material's id."""
        return self.filter(pk=material_id).first() if _ID.fullmatch(material_id) else None

    def tagged(self, tag: str) -> Self:
        """Those that carry exactly this tag."""
        if connections[self.db].vendor == "postgresql":
            return self.filter(tags__contains=[tag])
        # Most rows are passed over without reading their JSON, in which the tag stands as here.
        written = [json.dumps(tag, ensure_ascii=False), tag]
        return self.filter(RawSQL(_HAS_TAG_ON_SQLITE, written, models.BooleanField()))

    def in_language(self, language: str) -> Self:
        """Those in this language or a variety of it: `en` finds `en-GB` too."""
        return self.filter(
            models.Q(language__iexact=language) | models.Q(language__istartswith=f"{language}-")
        )


class CatalogEntry(models.Model):
    """The newest known state of one material.

    All but `replaced_revision` and `applied_at` follow from the event with the highest
    revision alone, so any order of arrival ends in the same row. A withdrawal therefore keeps
    no text of what it withdraws.
    """

    material_id = models.CharField(_("material"), max_length=64, primary_key=True)
    revision = models.BigIntegerField(_("revision"))
    replaced_revision = models.BigIntegerField(
        _("replaced revision"),
        default=0,
        help_text=_("The revision that stood here before; 0 when there was none."),
    )
    visible = models.BooleanField(_("visible"))
    title = models.CharField(_("title"), max_length=200, blank=True)
    summary = models.CharField(_("summary"), max_length=500, blank=True)
    body = models.TextField(blank=True, help_text="Markdown.")
    language = models.TextField(_("language"), blank=True, help_text=_("BCP 47; empty: not said."))
    tags = models.JSONField(_("tags"), default=list, blank=True)
    published_at = models.DateTimeField(_("published"), null=True, blank=True)
    withdrawn_at = models.DateTimeField(_("withdrawn"), null=True, blank=True)
    withdrawn_reason = models.CharField(_("reason"), max_length=500, blank=True)
    event_id = models.UUIDField(_("event"), help_text=_("The fact that this state comes from."))
    applied_at = models.DateTimeField(
        _("applied"), db_default=Now(), help_text=_("By the database's clock.")
    )

    objects = CatalogQuerySet.as_manager()

    class Meta:
        db_table = "catalog_entry"
        ordering = ["material_id"]
        verbose_name = _("catalog entry")
        verbose_name_plural = _("catalog entries")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(revision__gte=1), name="catalog_revision_from_one"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    visible=True, published_at__isnull=False, withdrawn_at__isnull=True
                )
                | models.Q(visible=False, published_at__isnull=True, withdrawn_at__isnull=False),
                name="catalog_published_or_withdrawn",
            ),
        ]
        indexes = [
            models.Index(
                models.F("published_at").desc(),
                "material_id",
                condition=models.Q(visible=True),
                name="catalog_public_list",
            ),
            models.Index(models.F("applied_at").desc(), name="catalog_latest"),
            # What was withdrawn, for the admin.
            models.Index(
                fields=["material_id"], condition=models.Q(visible=False), name="catalog_withdrawn"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.material_id} r{self.revision}"

    def get_absolute_url(self) -> str:
        return reverse("catalog:material", args=[self.material_id])

    @property
    def language_name(self) -> str:
        return name_of_language(self.language)


def name_of_language(tag: str) -> str:
    """What the language calls itself, or its tag where that is not known here."""
    try:
        return str(get_language_info(tag.lower())["name_local"]).capitalize()
    except KeyError:
        return tag


_ID = re.compile(MATERIAL_ID)

_HAS_TAG_ON_SQLITE = """(
    instr(catalog_entry.tags, %s)
    AND EXISTS (SELECT 1 FROM json_each(catalog_entry.tags) WHERE json_each.value = %s)
)"""
