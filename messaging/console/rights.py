"""Who stands before the page: the right is asked for on every request, GET and POST alike."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from messaging.operating.decision_log import Operator

VIEW = "messaging.view_deadletter"
VIEW_PAYLOAD = "messaging.view_payload"
REQUEUE = "messaging.requeue_deadletter"
CORRECT = "messaging.correct_deadletter"
DISCARD = "messaging.discard_deadletter"
PAUSE = "messaging.pause_delivery"

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, Rest], HttpResponse]


def needs(*rights: str) -> Callable[[View[Rest]], View[Rest]]:
    """The view opens for staff with all these rights: 403 without, the login for the others."""

    def guard(view: View[Rest]) -> View[Rest]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponse:
            require(request, *rights)
            return view(request, *args, **kwargs)

        return cast(View[Rest], admin.site.admin_view(guarded))

    return guard


def require(request: HttpRequest, *rights: str) -> None:
    """Raises PermissionDenied where one of them is missing."""
    if not request.user.has_perms(rights):
        raise PermissionDenied


def operator_of(request: HttpRequest) -> Operator:
    """The signed-in person, for the decision log."""
    return Operator(
        request.user.get_username(), request.user.pk, request.META.get("REMOTE_ADDR") or None
    )


def page(request: HttpRequest, title: str, **context: Any) -> dict[str, Any]:
    """The context that every page of the admin needs, with this page's own."""
    return {
        **admin.site.each_context(request),
        "title": title,
        "is_nav_sidebar_enabled": False,  # its place goes to the evidence
        "may": {
            "view": request.user.has_perm(VIEW),
            "view_payload": request.user.has_perm(VIEW_PAYLOAD),
            "requeue": request.user.has_perm(REQUEUE),
            "correct": request.user.has_perms((CORRECT, VIEW_PAYLOAD)),
            "discard": request.user.has_perm(DISCARD),
            "pause": request.user.has_perm(PAUSE),
        },
        **context,
    }
