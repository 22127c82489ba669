"""The readers' paths. Ids are taken as any text, so that an odd one gets the page for unknown."""

from django.urls import path

from materials.catalog import api, views

app_name = "catalog"

urlpatterns = [
    path("", views.list_materials, name="list"),
    path("materials/<str:material_id>/", views.show_material, name="material"),
    path("api/materials/", api.list_materials, name="api-list"),
    path("api/materials/<str:material_id>/", api.show_material, name="api-material"),
]
