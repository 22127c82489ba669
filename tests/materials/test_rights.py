"""The groups that the migrations make."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import connection

from materials.rights import grant

pytestmark = pytest.mark.django_db

groups = import_module("materials.migrations.0002_groups")
letters = import_module("materials.migrations.0003_dead_letter_rights")
authors = import_module("materials.migrations.0006_authors")

EDITORS = {
    "materials.add_material",
    "materials.change_material",
    "materials.publish_material",
    "materials.view_material",
    "materials.view_revision",
    "materials.withdraw_material",
}
AUTHORS = {
    "materials.add_material",
    "materials.change_material",
    "materials.view_material",
    "materials.view_revision",
}
OPERATORS = {
    "audit.view_auditrecord",
    "catalog.view_catalogentry",
    "materials.view_material",
    "materials.view_revision",
    "materials.view_schedule",
    "messaging.discard_deadletter",
    "messaging.pause_delivery",
    "messaging.requeue_deadletter",
    "messaging.retry_outboxmessage",
    "messaging.view_deadletter",
    "messaging.view_failedattempt",
    "messaging.view_inboxreceipt",
    "messaging.view_operatorbatch",
    "messaging.view_operatordecision",
    "messaging.view_outboxmessage",
    "messaging.view_payload",
    "messaging.view_relaylease",
}


def rights_of(group: str) -> set[str]:
    return {
        f"{app}.{codename}"
        for app, codename in Group.objects.get(name=group).permissions.values_list(
            "content_type__app_label", "codename"
        )
    }


@pytest.mark.parametrize(
    ("group", "rights"), [("Editors", EDITORS), ("Authors", AUTHORS), ("Operators", OPERATORS)]
)
def test_each_group_has_these_rights_and_no_other(group: str, rights: set[str]) -> None:
    assert rights_of(group) == rights


def test_rights_can_be_granted_before_django_makes_its_permissions() -> None:
    Permission.objects.all().delete()
    Group.objects.all().delete()

    groups.make_groups(apps, SimpleNamespace(connection=connection))
    for app in apps.get_app_configs():
        create_permissions(app, verbosity=0)

    assert rights_of("Editors") == EDITORS
    names = Permission.objects.filter(content_type__app_label="materials").values_list(
        "codename", "name"
    )
    assert dict(names) == {
        "add_material": "Can add material",
        "change_material": "Can change material",
        "view_material": "Can view material",
        "publish_material": "Can publish material",
        "withdraw_material": "Can withdraw material",
        "view_revision": "Can view revision",
        "view_schedule": "Can view schedule",
    }


def test_a_right_is_added_to_what_a_group_has_and_a_model_that_is_gone_is_passed_over() -> None:
    before = rights_of("Operators")

    grant(
        apps,
        group="Operators",
        rights=["materials.change_material", "museum.view_dinosaur"],
        using="default",
    )

    assert rights_of("Operators") == before | {"materials.change_material"}
