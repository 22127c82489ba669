"""Editors at their browsers in the same moment."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from materials.models import Material, Revision
from tests.materials.at_once import at_once
from tests.materials.makers import draft, facts, person, published
from tests.materials.test_editor_pages import EVERYTHING

pytestmark = pytest.mark.django_db(transaction=True)


def post(user: User, path: str, **fields: str) -> Callable[[], int]:
    client = Client()
    client.force_login(user)
    return lambda: client.post(path, fields).status_code


def test_a_double_click_on_publish_makes_one_event() -> None:
    user = person(*EVERYTHING)
    draft()

    codes = at_once([post(user, "/editor/article-107/publish/") for _ in range(2)])

    assert sorted(codes) == [302, 409]
    assert len(facts()) == 1


def test_fifty_posts_of_publish_and_withdraw_leave_one_clear_state() -> None:
    user = person(*EVERYTHING)
    published()

    codes = at_once(
        [
            post(user, f"/editor/article-107/{'publish' if number % 2 else 'withdraw'}/")
            for number in range(50)
        ]
    )

    assert set(codes) <= {302, 409, 503}
    numbers = [revision for _, _, revision in facts()]
    assert numbers == list(range(1, codes.count(302) + 2))
    assert sorted(Revision.objects.values_list("number", flat=True)) == numbers
    material = Material.objects.get()
    assert material.revision == numbers[-1]
    assert facts()[-1][1] == f"material.{material.state}"


def test_of_two_who_create_one_id_the_second_gets_a_form_error() -> None:
    user = person(*EVERYTHING)

    codes = at_once(
        [post(user, "/editor/new/", material_id="article-1", title=f"T{n}") for n in range(4)]
    )

    assert sorted(codes) == [302, 422, 422, 422]
    assert Material.objects.count() == 1
