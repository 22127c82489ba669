"""The Django admin's look at the source: to find by an index, without reading texts."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from materials import actions
from materials.models import Revision
from tests.materials.makers import draft, person, published

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    user = person()
    user.is_staff = user.is_superuser = True
    user.save()
    client.force_login(user)
    return client


def found(staff: Client, model: str, **query: str) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        page = staff.get(f"/admin/materials/{model}/", query)
    assert page.status_code == 200
    statements = [each["sql"] for each in asked]
    assert not [sql for sql in statements if '"body"' in sql or "UPPER" in sql or "LIKE" in sql]
    assert len(statements) <= 7
    return [row.material_id for row in page.context["cl"].queryset]


def test_materials_are_found_by_their_words_and_filters(staff: Client) -> None:
    published("a-first", title="Queues that forgive")
    draft("b-second", title="Other", body="They forgive too.")

    assert found(staff, "material") == ["b-second", "a-first"]
    assert found(staff, "material", q="forgi") == ["b-second", "a-first"]
    assert found(staff, "material", q="forgi", state__exact="published") == ["a-first"]
    assert found(staff, "material", q="b-second") == ["b-second"]
    assert found(staff, "material", q="***") == []


def test_revisions_are_found_by_material_and_by_event(staff: Client) -> None:
    published("a-first")
    published("b-second")
    actions.withdraw("b-second", actor="ada")
    event_id = Revision.objects.get(material_id="a-first").event_id

    assert found(staff, "revision") == ["b-second", "b-second", "a-first"]
    assert found(staff, "revision", q="b-second") == ["b-second", "b-second"]
    assert found(staff, "revision", q=str(event_id)) == ["a-first"]
    assert found(staff, "revision", kind__exact="withdrawn") == ["b-second"]
