"""Who may open an editor's page: anonymous people sign in first, others need the right."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import patch_cache_control

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, Rest], HttpResponse]


def needs(*rights: str) -> Callable[[View[Rest]], View[Rest]]:
    """The view opens for people with all these rights; 403 for those signed in without."""

    def guard(view: View[Rest]) -> View[Rest]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                if "HX-Request" in request.headers:
                    # A login page inside another page helps nobody; htmx leaves it as it is.
                    return HttpResponse(status=401)
                # After signing in a POST cannot be repeated: back to the list instead.
                where = request.get_full_path() if request.method == "GET" else _list()
                return redirect_to_login(where)
            if not request.user.has_perms(rights):
                raise PermissionDenied
            response = view(request, *args, **kwargs)
            # Nobody else's, and asked for again: what it shows changes with every act.
            patch_cache_control(response, private=True, no_cache=True)
            return response

        return cast(View[Rest], guarded)

    return guard


def _list() -> str:
    return reverse("materials:list")
