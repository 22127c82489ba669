"""The editors' pages that change nothing: the list, and the history of one material."""

from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from materials.forms import WithdrawForm
from materials.guard import needs
from materials.models import Material
from messaging.models import OutboxMessage

PAGE_SIZE = 50
LONGEST_SEARCH = 200


@require_safe
@needs("materials.view_material")
def list_materials(request: HttpRequest) -> HttpResponse:
    """All materials, the last edited first, each with the delivery of its last fact."""
    words = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    state = request.GET.get("state", "")
    if state not in Material.State.values:
        state = ""
    found = Material.objects.matching(words).with_delivery().defer("body", "summary")
    if state:
        found = found.filter(state=state)
    context = {
        "page": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
        "words": words.replace("\x00", "\N{REPLACEMENT CHARACTER}"),
        "state": state,
        "states": Material.State.choices,
    }
    return render(request, "materials/list.html", context)


@require_safe
@needs("materials.view_material")
def show_history(request: HttpRequest, material_id: str) -> HttpResponse:
    """Every fact about a material, the newest first, and what may be done with it now."""
    return history_page(request, material_id, WithdrawForm())


def history_page(
    request: HttpRequest, material_id: str, withdraw_form: WithdrawForm, *, status: int = 200
) -> HttpResponse:
    """The page of `show_history`, with a form that may hold faults."""
    material = get_object_or_404(Material.objects.with_delivery(), material_id=material_id)
    page = Paginator(material.revisions.defer("body"), PAGE_SIZE).get_page(request.GET.get("page"))
    deliveries = _deliveries([revision.event_id for revision in page])
    context = {
        "material": material,
        "page": page,
        "rows": [(revision, deliveries.get(revision.event_id)) for revision in page],
        "withdraw_form": withdraw_form,
    }
    return render(request, "materials/history.html", context, status=status)


def _deliveries(event_ids: list[UUID]) -> dict[UUID | None, str]:
    messages = OutboxMessage.objects.filter(consumer="", event_id__in=event_ids)
    return dict(messages.values_list("event_id", "state"))
