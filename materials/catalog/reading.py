"""How every address of the readers answers: to be read alone, and sent again only when changed."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.http import parse_http_date_safe
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

Rest = ParamSpec("Rest")
View = Callable[Concatenate[HttpRequest, Rest], HttpResponse]
Address = Callable[..., HttpResponseBase]


def for_reading(view: View[Rest]) -> Address:
    """GET and HEAD alone, 405 for the rest; 304 where the reader has what would be sent.

    The entity tag is the view's own or made of the page; HEAD tells the same as GET.
    """

    @wraps(view)
    def read(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if not response.has_header("ETag"):
            set_response_etag(response)
        dated = response.get("Last-Modified")
        return (
            get_conditional_response(
                request,
                etag=response.get("ETag"),
                last_modified=parse_http_date_safe(dated) if dated else None,
                response=response,
            )
            or response
        )

    # Exempt from CSRF, because nothing is changed here: a POST shall hear 405, not 403.
    return csrf_exempt(require_safe(read))
