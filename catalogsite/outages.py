"""While the database is away or busy a page says so: 503, when to come back; the API in JSON."""

import functools
from collections.abc import Callable
from typing import Any, cast

import structlog
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import get_template
from django.views import defaults

from catalogsite import stale_forms
from messaging.errors import OutageError
from messaging.running.error_texts import sanitised
from messaging.storing.database_errors import is_busy, kind_of

log = structlog.get_logger(__name__)

RETRY_AFTER_SECONDS = 5

Page = Callable[..., HttpResponseBase]


class OutageMiddleware:
    """Answers for a view that could not reach its database; every other error is left alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """503 for an outage of the database or one that is too busy, None for anything else."""
        return _answer(request, error)


class PatientSessionMiddleware(SessionMiddleware):
    """Sessions are saved after the view: that answers for an outage too."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return _answered(cast(Page, super().__call__))(request)


def _answered(page: Page) -> Page:
    @functools.wraps(page)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return page(request, *args, **kwargs)
        except Error as error:
            answer = _answer(request, error)
            if answer is None:
                raise
            return answer

    return answered


def _answered_unread(page: Page) -> Page:
    """These read the form for its token: one that is too large for it is refused as one."""
    page = _answered(page)

    @functools.wraps(page)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return page(request, *args, **kwargs)
        except (BadRequest, SuspiciousOperation):
            return HttpResponse(get_template("400.html").render(), status=400)

    return answered


# These look for the user in the database, to say who is signed in.
permission_denied = _answered_unread(defaults.permission_denied)
page_not_found = _answered_unread(defaults.page_not_found)
csrf_failure = _answered(stale_forms.csrf_failure)


def _answer(request: HttpRequest, error: Exception) -> HttpResponse | None:
    if not isinstance(error, Error):
        return None
    if kind_of(error) is OutageError:
        state = "away"
    elif is_busy(error):
        state = "busy"
    else:
        return None
    log.warning(f"page not served: the database is {state}", reason=sanitised(error))
    response: HttpResponse
    if request.path.startswith("/api/"):
        response = JsonResponse({"error": f"the database is {state}"}, status=503)
    else:
        # Without a request: the context processors would look for the user in the database.
        response = HttpResponse(get_template("503.html").render(), status=503)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response["Cache-Control"] = "no-store"
    return response
