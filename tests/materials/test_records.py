"""What the database itself refuses, whoever writes."""

import uuid
from typing import Any

import pytest
from django.db import DataError, IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from materials.models import Material, Revision
from tests.materials.makers import published

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "change",
    [
        {"state": "archived"},
        {"state": "draft"},
        {"revision": 0},
        {"title": ""},
        {"title": "x" * 201},
        {"summary": "x" * 501},
        {"body": "x" * 200_001},
    ],
    ids=str,
)
def test_a_material_that_breaks_the_rules_is_not_stored(change: dict[str, Any]) -> None:
    published()

    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        Material.objects.update(**change)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 1},
        {"number": 0},
        {"kind": "archived"},
        {"kind": "withdrawn"},
        {"title": ""},
        {"reason": "x"},
        {"actor": ""},
    ],
    ids=str,
)
def test_a_revision_that_breaks_the_rules_is_not_stored(change: dict[str, Any]) -> None:
    fields = {
        "material": published(),
        "number": 2,
        "kind": "published",
        "title": "Title",
        "actor": "ada",
        "happened_at": timezone.now(),
        "event_id": uuid.uuid4(),
    }

    with pytest.raises(IntegrityError), transaction.atomic():
        Revision.objects.create(**{**fields, **change})

    Revision.objects.create(**fields)


def test_a_material_with_a_history_cannot_be_deleted() -> None:
    with pytest.raises(ProtectedError):
        published().delete()
