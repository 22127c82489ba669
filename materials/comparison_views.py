"""Comparing any two revisions of a material, or one with the draft; restoring one as the draft."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from materials import actions
from materials.content import Content
from materials.differences import differences
from materials.forms import whole_number_in
from materials.guard import needs
from materials.models import Material, Revision
from materials.posted_from import posted_from
from materials.refusals import ActionRefused, UnknownMaterial

DRAFT = "draft"
MOST_CHOICES = 500


@require_safe
@needs("materials.view_material")
def compare(request: HttpRequest, material_id: str) -> HttpResponse:
    """`?old=` and `?new=` are revision numbers or `draft`; odd ones become the usual ones.

    Those are the newest revision and the draft or, where the draft says the same, the two newest.
    """
    material = get_object_or_404(Material, material_id=material_id)
    numbers = list(material.revisions.values_list("number", flat=True)[:MOST_CHOICES])
    asked = [_side(request.GET.get(side), numbers) for side in ("old", "new")]
    if asked == [None, None] and len(numbers) > 1 and not material.differs:
        asked = [str(number) for number in numbers[1::-1]]
    old = asked[0] or (str(material.revision) if numbers else DRAFT)
    new = asked[1] or DRAFT
    old_revision, old_content = _content(material, old)
    new_revision, new_content = _content(material, new)
    context = {
        "material": material,
        "choices": [DRAFT, *map(str, numbers)],
        "old": old,
        "new": new,
        "old_revision": old_revision,
        "new_revision": new_revision,
        "differences": differences(old_content, new_content),
    }
    return render(request, "materials/compare.html", context)


@posted_from("materials:history")
@needs("materials.view_material", "materials.change_material")
def restore(request: HttpRequest, material_id: str) -> HttpResponse:
    """Make a `revision` the draft; with the `version` that the page saw, only over that one."""
    number = whole_number_in(request.POST.get("revision", ""))
    version = whole_number_in(request.POST["version"]) if "version" in request.POST else None
    try:
        actions.restore(
            material_id,
            number=number,
            actor=cast(User, request.user).get_username(),
            version=version,
        )
    except UnknownMaterial as refusal:
        raise Http404(str(refusal)) from refusal
    except ActionRefused as refusal:
        messages.warning(request, str(refusal))
        return redirect("materials:history", material_id)
    messages.success(request, _("Revision %d is the draft again. Readers see no change.") % number)
    return redirect("materials:edit", material_id)


def _side(text: str | None, numbers: list[int]) -> str | None:
    if text == DRAFT:
        return DRAFT
    number = whole_number_in(text or "")
    return str(number) if number in numbers else None


def _content(material: Material, side: str) -> tuple[Revision | None, Content | None]:
    if side == DRAFT:
        return None, material.content
    revision = material.revisions.get(number=int(side))
    published = revision.kind == Revision.Kind.PUBLISHED
    return revision, revision.content if published else None
