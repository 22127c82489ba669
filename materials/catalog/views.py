"""The readers' pages, from the projection alone."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control

from materials.catalog import contents, rendering
from materials.catalog.freshness import ask_before_reuse_by_one_reader, date_by_entry
from materials.catalog.models import CatalogEntry
from materials.catalog.pages import page_of
from materials.catalog.reading import for_reading
from materials.catalog.selection import Selection


# The entity tags are made of the pages: they follow the language, and say who is signed in. To
# those who are, each page is another one every time, with a new token in the form to sign out.
@for_reading
def list_materials(request: HttpRequest) -> HttpResponse:
    """The catalog, newest first. `?page=` beyond the ends, or odd, shows the nearest page."""
    selection = Selection.from_query(request.GET)
    page = page_of(selection, request.GET.get("page", "1"))
    number = page.number if page.number > 1 else None
    context = {
        "selection": selection,
        "page": page,
        "feed": reverse("catalog:feed") + selection.query_string(),
        "canonical": request.build_absolute_uri(request.path + selection.query_string(page=number)),
    }
    response = render(request, "catalog/list.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@for_reading
def show_material(request: HttpRequest, material_id: str) -> HttpResponse:
    """One material: 404 where there is none, 410 where it was withdrawn."""
    entry = CatalogEntry.objects.find(material_id)
    if entry is None:
        response = render(request, "catalog/unknown.html", status=404)
    elif not entry.visible:
        response = render(request, "catalog/withdrawn.html", {"entry": entry}, status=410)
    else:
        address = request.build_absolute_uri(entry.get_absolute_url())
        context = {"entry": entry, "text": rendering.render(entry.body), "canonical": address}
        response = render(request, "catalog/material.html", context)
        if not request.user.is_authenticated:
            date_by_entry(response, entry)
    ask_before_reuse_by_one_reader(response, request)
    return response


@for_reading
def list_tags(request: HttpRequest) -> HttpResponse:
    """Every tag with the number of its materials."""
    here = request.build_absolute_uri(request.path)
    context = {"contents": contents.tags(), "canonical": here}
    response = render(request, "catalog/tags.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@for_reading
def list_languages(request: HttpRequest) -> HttpResponse:
    """Every language with the number of its materials."""
    context = {
        "contents": contents.languages(),
        "canonical": request.build_absolute_uri(request.path),
    }
    response = render(request, "catalog/languages.html", context)
    ask_before_reuse_by_one_reader(response, request)
    return response


@for_reading
@cache_control(max_age=3600)
def show_icon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for an icon when no page has told them."""
    return redirect(static("icon.svg"))
