"""Where somebody came from who is turned away."""

from urllib.parse import urlsplit

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

register = template.Library()


@register.simple_tag(takes_context=True)
def whence(context: template.Context) -> str:
    """The page of this site that led here, as a path; empty where it is none to go back to."""
    request: HttpRequest = context["request"]
    came_from = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure()):
        return ""
    page = urlsplit(came_from)
    is_here = page.path == request.path and request.method != "POST"
    if is_here or page.path == resolve_url(settings.LOGIN_URL):
        return ""
    path = page._replace(scheme="", netloc="", fragment="").geturl()
    # Its beginning may be what a browser takes for another host.
    return path if path.startswith("/") and url_has_allowed_host_and_scheme(path, None) else ""
