"""Each visitor's own choice of language and of light or dark, kept in two cookies."""

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.utils.http import is_same_domain, url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language
from django.views.decorators.csrf import csrf_exempt

from materials.posted_from import posted_from

THEME_COOKIE = "theme"
THEMES = ("light", "dark")
_YEAR_SECONDS = 365 * 24 * 3600


# No CSRF token: it would stand on every page, another one each time, and no page could be told
# unchanged. The browser's own word, where the form comes from, protects it instead.
@csrf_exempt
@posted_from("/")
def choose(request: HttpRequest) -> HttpResponse:
    """Keep `language` or `theme` (`system` forgets it) and go back to `next`.

    400 for what cannot be chosen, 403 unless the browser says that a page of this site asks.
    """
    if not _asked_by_this_site(request):
        raise PermissionDenied
    response = HttpResponseRedirect(_way_back(request))
    language, theme = request.POST.get("language"), request.POST.get("theme")
    if language is not None:
        if language not in dict(settings.LANGUAGES) or not check_for_language(language):
            return HttpResponseBadRequest("There is no such language here.")
        _keep(response, settings.LANGUAGE_COOKIE_NAME, language)
    if theme == "system":
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    elif theme in THEMES:
        _keep(response, THEME_COOKIE, theme)
    elif theme is not None:
        return HttpResponseBadRequest("There is no such theme.")
    return response


def theme(request: HttpRequest) -> dict[str, str]:
    """For templates: `light` or `dark` where chosen, else nothing."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return {"theme": chosen if chosen in THEMES else ""}


def _asked_by_this_site(request: HttpRequest) -> bool:
    origin = request.headers.get("Origin")
    if origin is None or origin == "null":
        return request.headers.get("Sec-Fetch-Site") == "same-origin"
    own = f"{request.scheme}://{request.get_host()}"
    return origin == own or any(
        _is_of(origin, trusted=trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS
    )


def _is_of(origin: str, *, trusted: str) -> bool:
    """As Django does it for every other form: `https://*.example.org` holds every part of it."""
    scheme, _, host = origin.partition("://")
    trusted_scheme, _, trusted_host = trusted.partition("://")
    if scheme != trusted_scheme:
        return False
    if trusted_host.startswith("*"):
        return is_same_domain(host, trusted_host[1:])
    return host == trusted_host


def _way_back(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "/")
    own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    return wanted if own else "/"


def _keep(response: HttpResponse, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=_YEAR_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
