"""Which room answers which path."""

from importlib.util import find_spec

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/login/", auth.LoginView.as_view(), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
]
for prefix, module in (("editor/", "materials"), ("", "materials.catalog")):
    if find_spec(f"{module}.urls"):
        urlpatterns.append(path(prefix, include(f"{module}.urls")))
