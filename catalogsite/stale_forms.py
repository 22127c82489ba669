"""A form whose token is not this session's: mostly somebody has signed in since it was opened.

An editor's form is shown again with what was typed; nothing is done. Any other gets the page that
asks to reload. A form that comes from another site is never shown.
"""

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.views import csrf


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """What Django calls in place of the view: 403, or the way to the login."""
    match = request.resolver_match
    again = getattr(match.func, "again", None) if match is not None else None
    is_only_the_token = reason == REASON_NO_CSRF_COOKIE or reason.startswith("CSRF token")
    if match is None or again is None or not is_only_the_token or "HX-Request" in request.headers:
        return csrf.csrf_failure(request, reason)
    response: HttpResponse = again(request, *match.args, **match.kwargs)
    if not response.has_header("Location"):
        response.status_code = 403
    return response
