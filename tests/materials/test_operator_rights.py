"""What Operators may do with dead letters, once the migrations have run."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection

rights = import_module("materials.migrations.0003_dead_letter_rights")


@pytest.mark.django_db
def test_operators_settle_dead_letters_and_do_not_correct_them() -> None:
    # Again, since a flush after an earlier transactional test takes the groups away.
    rights.grant_rights(apps, SimpleNamespace(connection=connection))

    granted = Group.objects.get(name="Operators").permissions
    found = granted.filter(content_type__app_label="messaging").values_list("codename", flat=True)
    names = {f"messaging.{codename}" for codename in found}

    assert names >= set(rights.OPERATORS)
    assert "messaging.correct_deadletter" not in names
    declared = dict(
        Permission.objects.filter(codename__in=["view_payload", "pause_delivery"]).values_list(
            "codename", "content_type__model"
        )
    )
    assert declared == {"view_payload": "deadletter", "pause_delivery": "deadletter"}
