"""The editors' paths, below /editor/."""

from django.urls import path, register_converter

from materials import (
    acts,
    bulk_views,
    comparison_views,
    draft_views,
    list_views,
    preview,
    schedule_views,
    views,
)
from messaging.event.fields import MATERIAL_ID


class MaterialIdConverter:
    """Only ids of the contract have pages; everything else is not found."""

    regex = MATERIAL_ID

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(MaterialIdConverter, "material_id")

app_name = "materials"

urlpatterns = [
    path("", list_views.list_materials, name="list"),
    path("new/", draft_views.create, name="new"),
    path("bulk/", bulk_views.act_on_many, name="bulk"),
    path("schedule/<int:number>/cancel/", schedule_views.cancel, name="cancel-schedule"),
    path("schedule/<int:number>/noted/", schedule_views.note, name="note-schedule"),
    path("preview/", preview.preview_new, name="preview-new"),
    path("<material_id:material_id>/preview/", preview.preview_draft, name="preview"),
    path("<material_id:material_id>/edit/", draft_views.edit, name="edit"),
    path("<material_id:material_id>/history/", views.show_history, name="history"),
    path("<material_id:material_id>/delivery/<int:number>/", views.show_delivery, name="delivery"),
    path("<material_id:material_id>/compare/", comparison_views.compare, name="compare"),
    path("<material_id:material_id>/restore/", comparison_views.restore, name="restore"),
    path("<material_id:material_id>/publish/", acts.publish, name="publish"),
    path("<material_id:material_id>/schedule/", schedule_views.schedule, name="schedule"),
    path("<material_id:material_id>/withdraw/", acts.withdraw, name="withdraw"),
]
