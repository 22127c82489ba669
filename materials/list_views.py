"""The list of materials: searched, filtered, sorted and paged by its address alone."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from materials.delivery import last_journeys
from materials.guard import needs
from materials.models import Material
from materials.views import PAGE_SIZE
from messaging import pauses

LONGEST_SEARCH = 200


@require_safe
@needs("materials.view_material")
def list_materials(request: HttpRequest) -> HttpResponse:
    """All materials, the last edited first, each with the delivery of its last fact."""
    words = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    state = request.GET.get("state", "")
    if state not in Material.State.values:
        state = ""
    found = Material.objects.matching(words).defer("body", "summary")
    if state:
        found = found.filter(state=state)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    journeys = last_journeys(page)
    context = {
        "page": page,
        "rows": [(material, journeys.get(material.material_id)) for material in page],
        "words": words.replace("\x00", "\N{REPLACEMENT CHARACTER}"),
        "state": state,
        "states": Material.State.choices,
        "paused": pauses.active(),
    }
    return render(request, "materials/list.html", context)
