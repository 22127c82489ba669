"""Addresses that take forms alone: whoever comes there by hand is led to the page with the form."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.views.decorators.http import require_http_methods

View = TypeVar("View", bound=Callable[..., Any])


def posted_from(page: str | Promise) -> Callable[[View], View]:
    """The view takes POST; GET leads to `page`: a path, or a name with the view's own arguments."""

    def taking(view: View) -> View:
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def taken(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method == "POST":
                return cast(HttpResponse, view(request, *args, **kwargs))
            return cast(HttpResponse, redirect(str(page), *args, **kwargs))

        return cast(View, taken)

    return taking
