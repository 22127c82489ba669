"""The list of materials: searched, filtered, sorted and paged by its address alone."""

from collections import defaultdict
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from materials.delivery import last_journeys
from materials.guard import needs
from materials.list_pages import page_of
from materials.listing import Selection, choices
from materials.models import Material, Schedule
from messaging.operating import pauses


@require_safe
@needs("materials.view_material")
def list_materials(request: HttpRequest) -> HttpResponse:
    """All materials, the last edited first, each with the delivery of its last fact."""
    selection = Selection.from_query(request.GET.dict())
    page = page_of(selection, request.GET.get("page"))
    journeys = last_journeys(page)
    planned = _planned(page)
    context = {
        "page": page,
        "rows": [
            (material, journeys.get(material.material_id), planned[material.material_id])
            for material in page
        ],
        "selection": selection,
        "choices": choices(),
        "paused": pauses.active(),
    }
    return render(request, "materials/list.html", context)


def _planned(materials: Iterable[Material]) -> dict[str, list[Schedule]]:
    found: dict[str, list[Schedule]] = defaultdict(list)
    ids = [material.material_id for material in materials]
    for schedule in Schedule.objects.told().filter(material_id__in=ids):
        found[schedule.material_id].append(schedule)
    return found
