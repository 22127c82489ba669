"""What crawlers ask for: sitemap.xml, its parts, and robots.txt."""

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from materials.catalog.counting import count
from materials.catalog.freshness import ask_before_reuse
from materials.catalog.models import CatalogEntry
from materials.catalog.reading import for_reading

# The most that sitemaps.org allows a file.
ADDRESSES_A_FILE = 50_000
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"


@for_reading
def show_sitemap(request: HttpRequest) -> HttpResponse:
    """Every published material; where they are more than 50 000, an index of parts."""
    files = _files()
    if files == 1:
        return _addresses(request, part=1)
    here = request.build_absolute_uri("/")
    parts = (
        f"<sitemap><loc>{escape(here)}sitemap-{number}.xml</loc></sitemap>\n"
        for number in range(1, files + 1)
    )
    return _xml("sitemapindex", parts)


@for_reading
def show_sitemap_part(request: HttpRequest, part: int) -> HttpResponse:
    """The materials of one part, the newest first; 404 past the last one."""
    if not 1 <= part <= _files():
        raise Http404
    return _addresses(request, part=part)


@for_reading
def show_robots(request: HttpRequest) -> HttpResponse:
    """Everything public may be read; searches and the rooms of editors may not."""
    lines = (
        "User-agent: *",
        "Disallow: /accounts/",
        "Disallow: /admin/",
        "Disallow: /editor/",
        "Disallow: /*?q=",
        "",
        f"Sitemap: {request.build_absolute_uri(reverse('catalog:sitemap'))}",
    )
    response = HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "max-age=3600"
    return response


def _files() -> int:
    published = count(CatalogEntry.objects.published(), name="published")
    return max(1, -(-published // ADDRESSES_A_FILE))


def _addresses(request: HttpRequest, *, part: int) -> HttpResponse:
    # In the order of an index that holds both columns.
    rows = CatalogEntry.objects.published().values_list("material_id", "published_at")
    first = (part - 1) * ADDRESSES_A_FILE
    # Ids need no escapes, in URLs as in XML; 50 000 calls of reverse() would take a second.
    pattern = escape(request.build_absolute_uri(reverse("catalog:material", args=["x"])))
    beginning, _, end = pattern.rpartition("x")
    return _xml(
        "urlset",
        (
            f"<url><loc>{beginning}{material_id}{end}</loc>"
            f"<lastmod>{_moment(published_at)}</lastmod></url>\n"
            for material_id, published_at in rows[first : first + ADDRESSES_A_FILE]
        ),
    )


def _xml(name: str, elements: Iterable[str]) -> HttpResponse:
    response = HttpResponse(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{_SCHEMA}">\n'
        f"{''.join(elements)}</{name}>\n",
        content_type="application/xml; charset=utf-8",
    )
    ask_before_reuse(response)
    return response


def _moment(moment: datetime | None) -> str:
    assert moment is not None
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
