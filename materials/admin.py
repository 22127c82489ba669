"""The Django admin's look at the source: read only, for every change is an act with an event."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from materials.models import TEXTS, Material, MaterialQuerySet, Revision, Schedule
from materials.searching import matching
from messaging.read_only_admin import FactAdmin, ReadOnlyAdmin


@admin.register(Material)
class MaterialAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "title", "state", "revision", "differs", "updated_at")
    list_filter = ("state", "differs")
    left_out_of_lists = TEXTS
    search_fields = ("material_id",)
    search_help_text = _("Words of the id, the title, the tags or the text, or their beginnings")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        # As the editors' list does, and not by the usual "contains", which no index answers.
        assert isinstance(queryset, MaterialQuerySet)
        return matching(queryset, search_term), False


@admin.register(Revision)
class RevisionAdmin(FactAdmin):
    list_display = ("of_material", "number", "kind", "title", "actor", "happened_at", "event_id")
    list_filter = ("kind",)
    left_out_of_lists = ("body", "summary")

    @admin.display(description=_("material"))
    def of_material(self, revision: Revision) -> str:
        return revision.material_id


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    list_display = ("of_material", "act", "due_at", "state", "said", "actor", "settled_at")
    list_filter = ("state", "act")
    search_fields = ("=material__material_id",)

    @admin.display(description=_("material"))
    def of_material(self, schedule: Schedule) -> str:
        return schedule.material_id
