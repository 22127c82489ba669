"""The Django admin's look at the source: read only, for every change is an act with an event."""

from django.contrib import admin

from materials.models import Material, Revision
from messaging.read_only_admin import ReadOnlyAdmin


@admin.register(Material)
class MaterialAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "title", "state", "revision", "differs", "updated_at")
    list_filter = ("state", "differs")
    search_fields = ("search_key",)


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = ("material_id", "number", "kind", "title", "actor", "happened_at", "event_id")
    list_filter = ("kind",)
    search_fields = ("=material__material_id", "=event_id")
    ordering = ("-id",)
