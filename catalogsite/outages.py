"""While the database is away a page says so: 503 and when to come back, JSON to programs."""

from collections.abc import Callable

import structlog
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template

from messaging.database_errors import kind_of
from messaging.error_texts import sanitised
from messaging.errors import OutageError

log = structlog.get_logger(__name__)

RETRY_AFTER_SECONDS = 5


class OutageMiddleware:
    """Answers for a view that could not reach its database; every other error is left alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """503 for an outage of the database, None for anything else."""
        if not isinstance(error, Error) or kind_of(error) is not OutageError:
            return None
        log.warning("page not served: the database is away", reason=sanitised(error))
        response: HttpResponse
        if request.path.startswith("/api/"):
            response = JsonResponse({"error": "the database is away"}, status=503)
        else:
            # Without a request: the context processors would look for the user in the database.
            response = HttpResponse(get_template("503.html").render(), status=503)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        response["Cache-Control"] = "no-store"
        return response
