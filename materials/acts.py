"""Publish and withdraw, by POST alone; GET shows what a POST would do, and changes nothing.

Done: back to the page, with a sentence. Refused: a browser goes back to the page with the
reason as a message, so that a second click shows where things stand; any other client, one
that does not ask for HTML, gets the reason as plain text with 409 (503 where the database was
busy).
"""

from collections.abc import Callable
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from materials import actions, signed_out
from materials.as_readers_see import draw
from materials.differences import differences
from materials.forms import WithdrawForm, whole_number_in
from materials.guard import needs
from materials.models import Material, Revision
from materials.refusals import ActionRefused, InvalidMaterial, TryAgain, UnknownMaterial


@require_http_methods(["GET", "HEAD", "POST"])
@needs("materials.publish_material")
def publish(request: HttpRequest, material_id: str) -> HttpResponse:
    """Publish the draft; with a `version` in the form, only that one.

    GET shows what would happen, and how the draft differs from what readers see.
    """
    if request.method != "POST":
        return _confirm_publishing(request, material_id)
    version = whole_number_in(request.POST["version"]) if "version" in request.POST else None
    refusal = publish_and_tell(request, material_id, version=version)
    return _answer(request, material_id, refusal)


def withdraw_again(request: HttpRequest, material_id: str) -> HttpResponse:
    """The form of a withdrawal as it was sent; nothing is withdrawn."""
    messages.warning(request, signed_out.said_of(request))
    return _confirm_withdrawal(request, material_id, WithdrawForm.as_typed(request))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("materials.withdraw_material", again=withdraw_again)
def withdraw(request: HttpRequest, material_id: str) -> HttpResponse:
    """Take the material away from readers, for the `reason` in the form. GET asks for it."""
    if request.method != "POST":
        return _confirm_withdrawal(request, material_id, WithdrawForm())
    form = WithdrawForm.posted(request)
    if not form.is_valid():
        return _confirm_withdrawal(request, material_id, form, status=422)
    reason = form.cleaned_data["reason"]
    try:
        refusal = _do_and_tell(
            request,
            lambda user: actions.withdraw(
                material_id, reason=reason, actor=user.get_username(), user=user
            ),
            _("“%(title)s” is withdrawn (revision %(number)d)."),
        )
    except InvalidMaterial as fault:
        form.show(fault)
        return _confirm_withdrawal(request, material_id, form, status=422)
    return _answer(request, material_id, refusal)


def _confirm_publishing(request: HttpRequest, material_id: str) -> HttpResponse:
    material = get_object_or_404(Material, material_id=material_id)
    public = material.published_content()
    context = {
        "material": material,
        "public": public,
        "next_revision": material.revision + 1,
        "differences": differences(public, material.content),
        # Who reads it for the first time sees no changes.
        "preview": None
        if public
        else draw(title=material.title, summary=material.summary, body=material.body),
        "back": request.GET.get("back", ""),
    }
    return render(request, "materials/publish.html", context)


def _confirm_withdrawal(
    request: HttpRequest, material_id: str, form: WithdrawForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "material": get_object_or_404(Material, material_id=material_id),
        "withdraw_form": form,
        "back": request.POST.get("back", request.GET.get("back", "")),
    }
    return render(request, "materials/withdraw.html", context, status=status)


def publish_and_tell(
    request: HttpRequest, material_id: str, *, version: int | None
) -> ActionRefused | None:
    """Publish, with a message for the next page; the refusal, if it was one."""
    try:
        return _do_and_tell(
            request,
            lambda user: actions.publish(
                material_id, actor=user.get_username(), user=user, version=version
            ),
            _("“%(title)s” is published (revision %(number)d)."),
        )
    except InvalidMaterial as fault:
        messages.error(request, str(fault))
        return fault


def _do_and_tell(
    request: HttpRequest, act: Callable[[User], Revision], sentence: str
) -> ActionRefused | None:
    try:
        revision = act(cast(User, request.user))
    except UnknownMaterial as refusal:
        raise Http404(str(refusal)) from refusal
    except InvalidMaterial:
        raise
    except ActionRefused as refusal:
        messages.warning(request, str(refusal))
        return refusal
    title = revision.material.title
    messages.success(request, sentence % {"title": title, "number": revision.number})
    return None


def _answer(request: HttpRequest, material_id: str, refusal: ActionRefused | None) -> HttpResponse:
    if refusal is not None and "text/html" not in request.headers.get("Accept", ""):
        busy = isinstance(refusal, TryAgain)
        return HttpResponse(
            f"{refusal}\n",
            status=503 if busy else 409,
            headers={"Retry-After": "1"} if busy else {},
            content_type="text/plain; charset=utf-8",
        )
    return redirect(_back(request, material_id))


def _back(request: HttpRequest, material_id: str) -> str:
    """Where the button stood: a path of this site, else the material's history or the list."""
    back = request.POST.get("back", "")
    if back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return back
    if request.user.has_perm("materials.view_material"):
        return reverse("materials:history", args=[material_id])
    return "/"
