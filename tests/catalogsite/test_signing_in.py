"""Where somebody begins who signs in."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

CONSOLE = "/admin/messaging/deadletter/"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rights", "is_staff", "wanted", "begins"),
    [
        (["view_deadletter", "view_material"], True, "", CONSOLE),
        (["view_deadletter", "change_material"], True, "", "/editor/"),
        (["view_deadletter"], False, "", "/editor/"),
        (["view_material"], True, "", "/editor/"),
        (["view_deadletter"], True, "/admin/messaging/pause/", "/admin/messaging/pause/"),
    ],
    ids=["operator", "writes too", "not let into the admin", "no operator", "sent by a page"],
)
def test_operators_begin_in_their_console_and_who_writes_with_the_materials(
    client: Client, rights: list[str], is_staff: bool, wanted: str, begins: str
) -> None:
    user = User.objects.create_user("somebody", password="a door of glass", is_staff=is_staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))

    form = {"username": "somebody", "password": "a door of glass", "next": wanted}
    response = client.post("/accounts/login/", form)

    assert response["Location"] == begins
