"""The readers' paths. Ids are taken as any text, so that an odd one gets the page for unknown."""

from django.urls import path

from materials.catalog import api, crawling, feed, openapi, views

app_name = "catalog"

urlpatterns = [
    path("", views.list_materials, name="list"),
    path("materials/<str:material_id>/", views.show_material, name="material"),
    path("tags/", views.list_tags, name="tags"),
    path("languages/", views.list_languages, name="languages"),
    path("feed.atom", feed.show_feed, name="feed"),
    path("sitemap.xml", crawling.show_sitemap, name="sitemap"),
    path("sitemap-<int:part>.xml", crawling.show_sitemap_part, name="sitemap-part"),
    path("robots.txt", crawling.show_robots, name="robots"),
    path("favicon.ico", views.show_icon, name="icon"),
    path("api/materials/", api.list_materials, name="api-list"),
    path("api/materials/<str:material_id>/", api.show_material, name="api-material"),
    path("api/openapi.json", openapi.show_document, name="api-document"),
]
