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
    is_path = page.path.startswith("/") and not page.path.startswith("//")
    if is_here or not is_path or page.path == resolve_url(settings.LOGIN_URL):
        return ""
    return page._replace(scheme="", netloc="", fragment="").geturl()
