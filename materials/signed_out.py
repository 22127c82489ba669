"""What was typed by somebody whose session has ended: kept in the sign-in page, shown again after.

`materials.guard` comes here with a draft of somebody who is not signed in. What was typed stays in
the browser, in hidden fields of the sign-in form, which is sent to the address of the form itself.
Nothing is saved by signing in: whoever that is looks at the form and saves it.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

TEMPLATE = "materials/signed_out.html"
CREDENTIALS = ("username", "password")
_LONGEST_NAME = 150


def ask(request: HttpRequest) -> HttpResponse:
    """The sign-in page that keeps what was sent (403: nothing was done)."""
    context = {"form": AuthenticationForm(request), "kept": _kept(request)}
    return render(request, TEMPLATE, context, status=403)


def sign_in(
    request: HttpRequest, *, rights: Sequence[str], then: Callable[[], HttpResponse]
) -> HttpResponse:
    """Sign in who gives a name and a password and has the rights, and answer with `then`.

    Everybody else is asked, and what was sent is kept. The request's token must be checked.
    """
    if not all(name in request.POST for name in CREDENTIALS):
        return ask(request)
    return cast(HttpResponse, _SignIn.as_view(rights=rights, then=then)(request))


def is_of_another(request: HttpRequest) -> bool:
    """Whether the form was opened by somebody else than who is signed in now."""
    writer = request.POST.get("writer", "")
    return bool(writer) and writer != cast(User, request.user).get_username()


def said_of(request: HttpRequest) -> str:
    """Why a form is shown again, for whoever is signed in now."""
    if is_of_another(request):
        return _(
            "Nothing is saved yet. %(writer)s opened this form, and you are signed in as %(name)s. "
            "Save it only if it is to go under your name."
        ) % {
            "writer": request.POST["writer"][:_LONGEST_NAME],
            "name": cast(User, request.user).get_username(),
        }
    return _(
        "Nothing is saved yet: your session ended while this form was open. "
        "What you typed is kept here; save it."
    )


class _Form(AuthenticationForm):
    def __init__(self, *args: Any, rights: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rights = rights
        wrong = _("That name and password do not belong together. Both are case-sensitive.")
        self.error_messages = {**self.error_messages, "invalid_login": wrong}

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if not user.has_perms(self._rights):
            raise ValidationError(
                _("%s has no right to do this. Sign in as somebody who has.") % user.get_username()
            )


class _SignIn(LoginView):
    template_name = TEMPLATE
    authentication_form = _Form
    rights: Sequence[str] = ()
    then: Callable[[], HttpResponse] | None = None

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "rights": self.rights}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(kept=_kept(self.request), **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        login(self.request, form.get_user())
        assert self.then is not None
        return self.then()


def _kept(request: HttpRequest) -> list[tuple[str, str]]:
    left_out = (*CREDENTIALS, "csrfmiddlewaretoken")
    return [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out
        for value in values
    ]
