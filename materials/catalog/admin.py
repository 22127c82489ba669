"""The readers' projection in the admin, to look at."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from materials.catalog.models import CatalogEntry
from messaging.read_only_admin import ReadOnlyAdmin, preview


@admin.register(CatalogEntry)
class CatalogEntryAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "revision", "visible", "title", "published_at", "applied_at")
    ordering = ("material_id",)
    list_filter = ("visible",)
    search_fields = ("material_id",)
    search_help_text = _("The beginning of a material id")
    exclude = left_out_of_lists = ("body",)
    readonly_fields = ("body_text",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        # The beginning, not the usual "contains", which no index answers.
        return queryset.filter(material_id__startswith=search_term.strip()), False

    @admin.display(description=_("body"))
    def body_text(self, entry: CatalogEntry) -> str:
        return preview(entry.body.encode())

    def view_on_site(self, obj: CatalogEntry) -> str:
        return obj.get_absolute_url()
