"""The catalog in the admin: to look at, quick, and never to change."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django import Settings

from materials.catalog.models import CatalogEntry
from tests.materials.catalog.facts import project, project_batch, published, withdrawn

pytestmark = pytest.mark.django_db

LIST = "/admin/catalog/catalogentry/"


def test_the_list_shows_published_and_withdrawn(admin_client: Client) -> None:
    project(published("article-1", title="Queues <i>"), withdrawn("article-2"))

    page = admin_client.get(LIST).content.decode()

    assert "article-1" in page
    assert "Queues &lt;i&gt;" in page
    assert "article-2" in page


def test_search_finds_ids_by_their_beginning(admin_client: Client) -> None:
    project_batch([published(f"article-{n}") for n in range(20)])

    found = {
        words: admin_client.get(LIST, {"q": words}).context["cl"].result_count
        for words in ("article-1", " article-10", "rticle", "%", "я")
    }

    assert found == {"article-1": 11, " article-10": 1, "rticle": 0, "%": 0, "я": 0}
    assert admin_client.get(LIST, {"q": "\x00"}).status_code in (200, 302)


def test_an_entry_shows_its_text_as_inert_text(admin_client: Client) -> None:
    project(published("a", body="<script>alert(1)</script>\u202e"))

    page = admin_client.get(f"{LIST}a/change/").content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in page
    assert "<script>alert(1)" not in page
    assert 'href="/materials/a/"' in page


def test_nothing_can_be_added_changed_or_deleted(admin_client: Client) -> None:
    project(published("a"))

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{LIST}a/change/", {"title": "Mine"}).status_code == 403
    assert admin_client.post(f"{LIST}a/delete/", {"post": "yes"}).status_code == 403
    assert "delete_selected" not in admin_client.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("zone", "moment"),
    [
        ("Asia/Tokyo", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        ("America/New_York", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_at_an_end_of_the_calendar_breaks_no_page(
    admin_client: Client, settings: Settings, zone: str, moment: datetime
) -> None:
    settings.TIME_ZONE = zone
    project(published("article-1"))
    CatalogEntry.objects.update(published_at=moment)

    for address in (LIST, f"{LIST}{'article-1'}/change/"):
        assert moment.date().isoformat() in admin_client.get(address).content.decode()
