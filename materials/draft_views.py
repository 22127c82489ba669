"""Writing: the form of a new material and of a draft, saved alone or saved and published.

Whoever is signed out meanwhile, or finds another one signed in, sees the form again with all that
was typed and the version it was made from; nothing is saved then.
"""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from materials import actions, signed_out
from materials.acts import publish_and_tell
from materials.differences import differences
from materials.forms import DraftForm, NewMaterialForm, initial_of
from materials.guard import needs
from materials.models import Material
from materials.refusals import ActionRefused, DraftChanged, InvalidMaterial, TryAgain


def write_new_again(request: HttpRequest) -> HttpResponse:
    """The form of a new material as it was sent, not saved."""
    return _again(request, NewMaterialForm)


def write_again(request: HttpRequest, material_id: str) -> HttpResponse:
    """The form of a draft as it was sent, not saved."""
    return _again(request, DraftForm, get_object_or_404(Material, material_id=material_id))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("materials.view_material", "materials.add_material", again=write_new_again, holds_text=True)
def create(request: HttpRequest) -> HttpResponse:
    """A form for a new material. A fault stands beside its field (422)."""
    if request.method != "POST":
        return _page(request, NewMaterialForm())
    if signed_out.is_of_another(request):
        return _again(request, NewMaterialForm, status=409)
    form = NewMaterialForm.posted(request)
    if form.is_valid():
        try:
            material = actions.create(
                form.cleaned_data["material_id"], actor=_actor(request), **form.content()
            )
        except (InvalidMaterial, TryAgain) as refusal:
            form.show(refusal)
        else:
            return _saved(request, material)
    return _page(request, form, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
@needs("materials.view_material", "materials.change_material", again=write_again, holds_text=True)
def edit(request: HttpRequest, material_id: str) -> HttpResponse:
    """A material's draft in a form. Who saves second sees both drafts and decides (409)."""
    material = get_object_or_404(Material, material_id=material_id)
    if request.method != "POST":
        return _page(request, DraftForm(initial=initial_of(material)), material)
    if signed_out.is_of_another(request):
        return _again(request, DraftForm, material, status=409)
    form = DraftForm.posted(request)
    if form.is_valid():
        try:
            material = actions.edit(
                material_id,
                actor=_actor(request),
                version=form.cleaned_data["version"],
                **form.content(),
            )
        except (InvalidMaterial, TryAgain) as refusal:
            form.show(refusal)
        except DraftChanged as refusal:
            return _conflict(request, form, refusal, material_id=material_id)
        else:
            return _saved(request, material)
    return _page(request, form, material, status=422)


def _saved(request: HttpRequest, material: Material) -> HttpResponse:
    may_publish = request.user.has_perm("materials.publish_material")
    if request.POST.get("then") == "publish" and may_publish:
        publish_and_tell(request, material.material_id, version=material.version)
        return redirect("materials:history", material.material_id)
    messages.success(request, _("The draft of “%s” is saved.") % material.title)
    if request.POST.get("then") == "confirm" and may_publish:
        return redirect("materials:publish", material.material_id)
    if request.user.has_perm("materials.change_material"):
        return redirect("materials:edit", material.material_id)
    return redirect("materials:history", material.material_id)


def _conflict(
    request: HttpRequest, form: DraftForm, refusal: ActionRefused, *, material_id: str
) -> HttpResponse:
    theirs = get_object_or_404(Material, material_id=material_id)
    differing = [
        (form[name].label, mine, saved)
        for name, mine, saved in form.compared_with(theirs)
        if mine != saved
    ]
    # Saving once more, having seen theirs, is a decision and no longer an accident.
    data = request.POST.copy()
    data["version"] = str(theirs.version)
    context = {
        "form": DraftForm(data),
        "material": theirs,
        "refusal": refusal,
        "differing": differing,
        "differences": differences(theirs.content, form.typed()),
        "unsaved": True,
    }
    return render(request, "materials/conflict.html", context, status=409)


def _again(
    request: HttpRequest,
    form_class: type[DraftForm],
    material: Material | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    messages.warning(request, signed_out.said_of(request))
    return _page(request, form_class.as_typed(request), material, status=status, unsaved=True)


def _page(
    request: HttpRequest,
    form: DraftForm,
    material: Material | None = None,
    *,
    status: int = 200,
    unsaved: bool = False,
) -> HttpResponse:
    context = {"form": form, "material": material, "unsaved": unsaved}
    return render(request, "materials/draft.html", context, status=status)


def _actor(request: HttpRequest) -> str:
    return cast(User, request.user).get_username()
