"""Which room answers which path. `/healthz` and `/readyz` are answered before any of them:
see messaging.operating.health.
"""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from catalogsite import preferences
from catalogsite.signing_in import SignIn
from materials.posted_from import posted_from

urlpatterns = [
    path("editor/", include("materials.urls")),
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/logout/", posted_from("/")(auth.LogoutView.as_view()), name="logout"),
    path("preferences/", preferences.choose, name="preferences"),
    path("admin/", admin.site.urls),
    path("", include("materials.catalog.urls")),
]

handler403 = "catalogsite.outages.permission_denied"
handler404 = "catalogsite.outages.page_not_found"
