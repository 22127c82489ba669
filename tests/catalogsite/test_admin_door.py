"""The admin's door, for the pages of every app alike."""

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def filters_of(model_admin: admin.ModelAdmin) -> Iterator[str]:  # type: ignore[type-arg]  # of any model
    """Every parameter that its list reads, as far as the filters tell, and an exact one of each
    column."""
    for each in model_admin.list_filter:
        if isinstance(each, type):
            yield getattr(each, "parameter_name", "since")
        else:
            yield from (f"{each}__exact", f"{each}__icontains")
    yield from ("o", "p", "e", "all", "until", "id__gt", "any__thing")


def test_what_no_database_can_be_asked_for_is_refused_on_every_page(admin_client: Client) -> None:
    answers = {}
    for model, model_admin in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        page = reverse(f"{name}_changelist")
        for parameter in filters_of(model_admin):
            query = f"?{parameter}=a%00b"
            answers[page + query] = admin_client.get(page + query).status_code
        answers[f"{page}?%00=1"] = admin_client.get(f"{page}?%00=1").status_code
        for place in ("change", "delete", "history"):
            assert admin_client.get(f"{page}a%00b/{place}/").status_code == 404, page
        if model_admin.search_fields:
            assert admin_client.get(f"{page}?q=a%00b").status_code == 200, page

    assert len(answers) > 100
    assert set(answers.values()) == {400}, answers
