"""The history of one material: its revisions, and where each of them is right now."""

from collections.abc import Iterable
from hashlib import sha256

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from materials.delivery import Journey, journeys
from materials.guard import needs
from materials.models import Material, Schedule
from messaging.models import Pause
from messaging.operating import pauses

PAGE_SIZE = 50


@require_safe
@needs("materials.view_material")
def show_history(request: HttpRequest, material_id: str) -> HttpResponse:
    """Every fact about a material, the newest first, with its delivery."""
    material = get_object_or_404(Material, material_id=material_id)
    page = Paginator(material.revisions.defer("body"), PAGE_SIZE).get_page(request.GET.get("page"))
    found = journeys(page, newest={material.material_id: material.revision})
    paused = pauses.active()
    context = {
        "material": material,
        "planned": Schedule.objects.told().filter(material=material),
        "paused": paused,
        "page": page,
        "rows": [
            (revision, found[revision.event_id], state_of(found[revision.event_id], paused))
            for revision in page
        ],
    }
    return render(request, "materials/history.html", context)


@require_safe
@needs("materials.view_material")
def show_delivery(request: HttpRequest, material_id: str, number: int) -> HttpResponse:
    """One revision's journey as a fragment; 204 where it is as the page shows it already.

    What the page says about pauses comes along. Whoever opens it by itself is led to the history.
    """
    material = get_object_or_404(Material, material_id=material_id)
    # A number that no column holds is a revision that nobody has.
    revision = material.revisions.filter(number=number).first() if number < 2**63 else None
    if revision is None:
        raise Http404
    if "HX-Request" not in request.headers:
        page = (material.revision - number) // PAGE_SIZE + 1
        history = reverse("materials:history", args=[material_id])
        return redirect(f"{history}?page={page}#revision-{number}")
    newest = {material.material_id: material.revision}
    journey = journeys([revision], newest=newest)[revision.event_id]
    paused = pauses.active()
    state = state_of(journey, paused)
    if request.GET.get("seen") == state:
        response = HttpResponse(status=204)
    else:
        context = {
            "material": material,
            "revision": revision,
            "journey": journey,
            "state": state,
            "paused": paused,
            "is_fragment": True,
        }
        response = render(request, "materials/_journey.html", context)
    response["Cache-Control"] = "no-store"
    return response


def state_of(journey: Journey, paused: Iterable[Pause]) -> str:
    """A short name for exactly what the journey, and what the page says of pauses, shows."""
    held = [(pause.target, pause.reason, pause.until) for pause in paused]
    told = repr((journey.stations, journey.replaced_by, held))
    return sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:16]
