"""The readers' pages, from the projection alone."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from materials.catalog import contents, rendering
from materials.catalog.freshness import ask_before_reuse_by_one_reader, date_by_entry
from materials.catalog.models import CatalogEntry
from materials.catalog.pages import page_of
from materials.catalog.selection import Selection


# The entity tag is made of the page itself, because the page also says who is signed in.
@require_safe
@conditional_page
def list_materials(request: HttpRequest) -> HttpResponse:
    """The catalog, newest first. `?page=` beyond the ends, or odd, shows the nearest page."""
    selection = Selection.from_query(request.GET)
    page = page_of(selection.entries(), request.GET.get("page", "1"), name=repr(selection))
    number = page.number if page.number > 1 else None
    context = {
        "selection": selection,
        "page": page,
        "feed": reverse("catalog:feed") + selection.query_string(),
        "canonical": _absolute(request, request.path + selection.query_string(page=number)),
    }
    response = render(request, "catalog/list.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@require_safe
@conditional_page
def show_material(request: HttpRequest, material_id: str) -> HttpResponse:
    """One material: 404 where there is none, 410 where it was withdrawn."""
    entry = CatalogEntry.objects.find(material_id)
    if entry is None:
        response = render(request, "catalog/unknown.html", status=404)
    elif not entry.visible:
        response = render(request, "catalog/withdrawn.html", {"entry": entry}, status=410)
    else:
        address = _absolute(request, entry.get_absolute_url())
        context = {"entry": entry, "text": rendering.render(entry.body), "canonical": address}
        response = render(request, "catalog/material.html", context)
        if not request.user.is_authenticated:
            date_by_entry(response, entry)
    ask_before_reuse_by_one_reader(response, request)
    return response


@require_safe
@conditional_page
def list_tags(request: HttpRequest) -> HttpResponse:
    """Every tag with the number of its materials."""
    context = {"shelves": contents.tags(), "canonical": _absolute(request, request.path)}
    response = render(request, "catalog/tags.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@require_safe
@conditional_page
def list_languages(request: HttpRequest) -> HttpResponse:
    """Every language with the number of its materials."""
    context = {"shelves": contents.languages(), "canonical": _absolute(request, request.path)}
    response = render(request, "catalog/languages.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@require_safe
@cache_control(max_age=3600)
def show_icon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for an icon when no page has told them."""
    return redirect(static("icon.svg"))


def _absolute(request: HttpRequest, address: str) -> str:
    return request.build_absolute_uri(address)
