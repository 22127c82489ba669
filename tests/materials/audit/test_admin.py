"""The audit trail in the admin: to look at, quick, and never to change."""

from datetime import UTC, datetime

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from materials.audit.models import AuditRecord
from materials.audit.projection import apply
from messaging.envelope import Event
from tests.materials.catalog.facts import published, withdrawn

pytestmark = pytest.mark.django_db

LIST = "/admin/audit/auditrecord/"


def record(*batch: Event) -> None:
    with transaction.atomic():
        apply(batch, "default")


def test_records_are_found_by_whole_material_id_or_event_id(admin_client: Client) -> None:
    fact = published("article-1")
    record(fact, withdrawn("article-1", 2), published("article-10"))

    found = {
        words: admin_client.get(LIST, {"q": words}).context["cl"].result_count
        for words in ("", "article-1", f" {fact.event_id} ", fact.event_id.upper(), "article", "%")
    }

    assert list(found.values()) == [3, 2, 1, 1, 0, 0]
    assert admin_client.get(LIST, {"q": "\x00"}).status_code in (200, 302)


def test_the_newest_record_stands_on_top(admin_client: Client) -> None:
    record(published("first"), published("second"))

    page = admin_client.get(LIST).content.decode()

    assert page.index("second") < page.index("first")


def test_a_record_shows_its_envelope_as_inert_text(admin_client: Client) -> None:
    record(published("a", body="<script>alert(1)</script>\u202e"))

    page = admin_client.get(f"{LIST}{AuditRecord.objects.get().pk}/change/").content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in page
    assert "<script>alert(1)" not in page


def test_nothing_can_be_added_changed_or_deleted(admin_client: Client) -> None:
    record(published("a"))
    one = f"{LIST}{AuditRecord.objects.get().pk}/"

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{one}change/", {"actor": "eve"}).status_code == 403
    assert admin_client.post(f"{one}delete/", {"post": "yes"}).status_code == 403
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
    record(published("article-1"))
    AuditRecord.objects.update(occurred_at=moment)

    for address in (LIST, f"{LIST}{AuditRecord.objects.get().pk}/change/"):
        assert moment.date().isoformat() in admin_client.get(address).content.decode()
