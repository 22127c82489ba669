"""The admin's door: anonymous to the login, signed in without the right to the 403 page.

What no database can be asked for is turned away here, for the pages of every app alike.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

View = TypeVar("View", bound=Callable[..., Any])


class GuardedAdminSite(AdminSite):
    """Django sends everybody without the right to a second login; ours says no to the known."""

    index_title = _("Delivery and admin")

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        guarded = super().admin_view(view, cacheable)

        @wraps(guarded)
        def door(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated:
                if not self.has_permission(request):
                    raise PermissionDenied
                if "\0" in request.path:
                    raise Http404
                if _asks_for_nul(request):
                    raise BadRequest("U+0000 in a parameter")
            return guarded(request, *args, **kwargs)

        return cast(View, door)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Each list under the heading of its own page, where its records are called otherwise."""
        apps = super().get_app_list(request, app_label)
        for app in apps:
            for listed in app["models"]:
                heading = getattr(self._registry[listed["model"]], "heading", "")
                listed["name"] = str(heading or listed["name"])
            app["models"].sort(key=lambda listed: listed["name"])
        return apps

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The login form, or 403 for somebody who is signed in and may not enter."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied
        return super().login(request, extra_context)


def _asks_for_nul(request: HttpRequest) -> bool:
    """Whether PostgreSQL would refuse the question; a search has a form that says so in words."""
    asked = [values for name, values in request.GET.lists() if name != SEARCH_VAR]
    return "\0" in "".join([*request.GET, *(text for some in asked for text in some)])


class GuardedAdminConfig(AdminConfig):
    """In INSTALLED_APPS in place of django.contrib.admin."""

    default_site = "catalogsite.admin_door.GuardedAdminSite"
