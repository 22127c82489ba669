"""The Django admin's look at the source: read only, for every change is an act with an event."""

from django.contrib import admin

from materials.models import Material, Revision, Schedule
from messaging.read_only_admin import ReadOnlyAdmin


@admin.register(Material)
class MaterialAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "title", "state", "revision", "differs", "updated_at")
    list_filter = ("state", "differs")
    search_fields = ("material_id", "title")


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "number", "kind", "title", "actor", "happened_at", "event_id")
    list_filter = ("kind",)
    search_fields = ("=material__material_id", "=event_id")
    ordering = ("-id",)


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "act", "due_at", "state", "said", "actor", "settled_at")
    list_filter = ("state", "act")
    search_fields = ("=material__material_id",)
