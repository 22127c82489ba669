"""What a request's bytes are read as: UTF-8, whatever the client calls it.

Django takes the charset of the Content-Type at its word, even to read the query string of a request
without a body: a name such as `rot13` breaks it before any page is asked.
"""

import codecs
from collections.abc import Callable
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template

_UNSUPPORTED_MEDIA_TYPE = 415
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Utf8Request(WSGIRequest):
    """Made by `catalogsite.wsgi` for every request. A Content-Type that cannot be read is none."""

    def __init__(self, environ: dict[str, Any]) -> None:
        try:
            super().__init__(environ)
        except (LookupError, ValueError):  # a parameter in an encoding of its own, or with U+0000
            super().__init__(environ | {"CONTENT_TYPE": ""})

    @property
    def encoding(self) -> str:
        return "utf-8"

    @encoding.setter
    def encoding(self, charset: str) -> None:
        """Django sets it to what the client says."""


def refuse_other_charsets(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: 415 for a form whose bytes would be taken for what they are not."""

    def respond(request: HttpRequest) -> HttpResponse:
        charset = (request.content_params or {}).get("charset", "utf-8")
        is_form = request.method == "POST" and request.content_type in _FORMS
        return _refusal(request) if is_form and not _is_utf8(charset) else get_response(request)

    return respond


def _is_utf8(charset: str) -> bool:
    try:
        return codecs.lookup(charset).name == "utf-8"
    except (LookupError, ValueError):
        return False


def _refusal(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        error = {"error": "forms are read in UTF-8 alone"}
        return JsonResponse(error, status=_UNSUPPORTED_MEDIA_TYPE)
    page = get_template("415.html").render()
    return HttpResponse(page, status=_UNSUPPORTED_MEDIA_TYPE)
