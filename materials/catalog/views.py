"""The readers' pages, from the projection alone."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page, require_safe

from materials.catalog import rendering
from materials.catalog.freshness import ask_before_reuse, date_by_entry
from materials.catalog.models import CatalogEntry
from materials.catalog.selection import Selection

PAGE_SIZE = 20


# The entity tag is made of the page itself, because the page also says who is signed in.
@require_safe
@conditional_page
def list_materials(request: HttpRequest) -> HttpResponse:
    """The catalog, newest first. `?page=` beyond the ends, or odd, shows the nearest page."""
    selection = Selection.from_query(request.GET)
    entries = selection.entries().defer("body")
    page = Paginator(entries, PAGE_SIZE).get_page(request.GET.get("page", "1"))
    response = render(request, "catalog/list.html", {"selection": selection, "page": page})
    ask_before_reuse(response)
    return response


@require_safe
@conditional_page
def show_material(request: HttpRequest, material_id: str) -> HttpResponse:
    """One material: 404 where there is none, 410 where it was withdrawn."""
    entry = CatalogEntry.objects.find(material_id)
    if entry is None:
        return render(request, "catalog/unknown.html", {"material_id": material_id}, status=404)
    if not entry.visible:
        return render(request, "catalog/withdrawn.html", {"entry": entry}, status=410)
    context = {"entry": entry, "text": rendering.render(entry.body)}
    response = render(request, "catalog/material.html", context)
    ask_before_reuse(response)
    if not request.user.is_authenticated:
        date_by_entry(response, entry)
    return response
