"""Who may open an editor's page: anonymous people sign in first, others need the right.

They come back to the page they asked for; an act that was sent is not done. A view may say how its
form is shown again (`again`), which changes nothing: for a form whose token is older than the
sign-in (`catalogsite.stale_forms`), and, where the form `holds_text` that would be lost on the way,
for somebody whose session has ended.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control

from materials import signed_out

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, Rest], HttpResponse]


def needs(
    *rights: str,
    again: Callable[..., HttpResponse] | None = None,
    holds_text: bool = False,
) -> Callable[[View[Rest]], View[Rest]]:
    """The view opens for people with all these rights; 403 for those signed in without."""

    def guard(view: View[Rest]) -> View[Rest]:
        def shown_again(
            request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs
        ) -> HttpResponse:
            if not request.user.is_authenticated:
                return signed_out.ask(request) if holds_text else to_the_login(request)
            assert again is not None
            return opened(again, request, *args, **kwargs)

        def opened(
            view: Callable[..., HttpResponse],
            request: HttpRequest,
            *args: Rest.args,
            **kwargs: Rest.kwargs,
        ) -> HttpResponse:
            if not request.user.has_perms(rights):
                raise PermissionDenied
            response = view(request, *args, **kwargs)
            # Nobody else's, and asked for again: what it shows changes with every act.
            patch_cache_control(response, private=True, no_cache=True)
            return response

        @wraps(view)
        def guarded(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponse:
            if request.user.is_authenticated:
                return opened(view, request, *args, **kwargs)
            if "HX-Request" in request.headers:
                # A login page inside another page helps nobody.
                return render(request, "materials/_signed_out.html", status=401)
            if request.method == "POST" and holds_text:
                return signed_out.sign_in(
                    request, rights=rights, then=lambda: shown_again(request, *args, **kwargs)
                )
            return to_the_login(request)

        def to_the_login(request: HttpRequest) -> HttpResponse:
            # The page of an act stands at the address of the act, or is led to from there.
            return redirect_to_login(request.get_full_path())

        if again is not None:
            # Found there by `catalogsite.stale_forms`, which is given the view alone.
            guarded.again = shown_again  # type: ignore[attr-defined]  # functions may have any
        return cast(View[Rest], guarded)

    return guard
