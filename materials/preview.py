"""What readers would see of a draft that is being written, by the very renderer of their pages.

With htmx a fragment beside the form; without it the same form again, with the preview under it.
Nothing is stored.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from materials import draft_views
from materials.as_readers_see import draw
from materials.forms import DraftForm, NewMaterialForm
from materials.guard import needs
from materials.models import Material
from materials.posted_from import posted_from


@posted_from("materials:new")
@needs(
    "materials.view_material",
    "materials.add_material",
    again=draft_views.write_new_again,
    holds_text=True,
)
def preview_new(request: HttpRequest) -> HttpResponse:
    """A preview of a material that is not saved yet."""
    return _answer(request, NewMaterialForm, material=None)


@posted_from("materials:edit")
@needs(
    "materials.view_material",
    "materials.change_material",
    again=draft_views.write_again,
    holds_text=True,
)
def preview_draft(request: HttpRequest, material_id: str) -> HttpResponse:
    """A preview of the form of this material's draft."""
    material = get_object_or_404(Material, material_id=material_id)
    return _answer(request, DraftForm, material=material)


def _answer(
    request: HttpRequest, form_class: type[DraftForm], *, material: Material | None
) -> HttpResponse:
    typed = request.POST
    preview = draw(
        title=typed.get("title", ""),
        summary=typed.get("summary", ""),
        body=typed.get("body", ""),
    )
    if "HX-Request" in request.headers:
        return render(request, "materials/_preview.html", {"preview": preview})
    # The form keeps what was typed, and judges nothing before it is saved.
    form = form_class.as_typed(request)
    context = {"form": form, "material": material, "preview": preview, "unsaved": True}
    return render(request, "materials/draft.html", context)
