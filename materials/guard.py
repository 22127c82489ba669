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
from django.utils.translation import gettext_lazy as _

from materials import signed_out

_ACTS = {
    "materials.view_material": _("to see the editors’ pages"),
    "materials.add_material": _("to write a new material"),
    "materials.change_material": _("to change a draft"),
    "materials.publish_material": _("to publish"),
    "materials.withdraw_material": _("to withdraw"),
}

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, Rest], HttpResponse]


def insist(request: HttpRequest, *rights: str) -> None:
    """Refuse (403) whoever lacks one of these rights; the page says in words which."""
    for right in rights:
        if not request.user.has_perm(right):
            raise PermissionDenied(_ACTS.get(right, ""))


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
            insist(request, *rights)
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
