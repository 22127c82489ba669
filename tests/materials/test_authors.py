"""Authors write drafts alone: what their pages do not offer is refused to their POSTs, too."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from materials import actions, schedules
from materials.models import Material, Schedule
from tests.materials.makers import draft, facts, person, published

pytestmark = pytest.mark.django_db

# As the migration grants them to the group (tests/materials/test_rights.py).
AUTHORS = ("view", "add", "change")


@pytest.fixture
def author(client: Client) -> Client:
    client.force_login(person(*AUTHORS, username="edgar"))
    return client


@pytest.fixture
def planned() -> Schedule:
    editor: User = person(*AUTHORS, "publish", "withdraw", username="grace")
    return schedules.plan(
        "article-2",
        act="publish",
        due_at=timezone.now() + timedelta(days=1),
        zone="UTC",
        user=editor,
    )


@pytest.fixture(autouse=True)
def materials() -> None:
    published("article-1", title="Known")
    actions.edit("article-1", title="Known better", actor="ada")
    draft("article-2", title="Unknown")


def test_the_pages_of_an_author_offer_no_act_that_readers_would_notice(
    author: Client, planned: Schedule
) -> None:
    for path in (
        "/editor/",
        "/editor/new/",
        "/editor/article-1/edit/",
        "/editor/article-1/history/",
        "/editor/article-2/history/",
    ):
        page = author.get(path).content.decode()

        for sign in ("/publish/", "/withdraw/", "/schedule/", 'value="confirm"', 'name="act"'):
            assert sign not in page, (path, sign)


def test_what_is_not_offered_is_refused_to_a_post(author: Client, planned: Schedule) -> None:
    when = f"{timezone.now() + timedelta(days=2):%Y-%m-%dT%H:%M:%S}"
    refused = [
        ("/editor/article-1/publish/", {}),
        ("/editor/article-1/withdraw/", {"reason": "No."}),
        ("/editor/article-1/schedule/", {"act": "publish", "when": when, "zone": "UTC"}),
        ("/editor/article-1/schedule/", {"act": "withdraw", "when": when, "zone": "UTC"}),
        (f"/editor/schedule/{planned.pk}/cancel/", {}),
        ("/editor/bulk/", {"act": "publish", "material": "article-1"}),
        ("/editor/bulk/", {"act": "publish", "items": "article-1:2"}),
        ("/editor/bulk/", {"act": "withdraw", "items": "article-1:2", "reason": "No."}),
    ]

    statuses = [author.post(path, fields).status_code for path, fields in refused]

    assert statuses == [403] * len(refused)
    assert facts() == [("article-1", "material.published", 1)]
    assert list(Schedule.objects.values_list("pk", "state")) == [(planned.pk, "pending")]


@pytest.mark.parametrize("then", ["publish", "confirm"])
def test_a_draft_saved_by_an_author_stays_a_draft(author: Client, then: str) -> None:
    version = Material.objects.get(material_id="article-2").version

    answer = author.post(
        "/editor/article-2/edit/", {"title": "New", "version": str(version), "then": then}
    )

    assert answer.url == "/editor/article-2/edit/"
    assert Material.objects.get(material_id="article-2").title == "New"
    assert facts() == [("article-1", "material.published", 1)]
