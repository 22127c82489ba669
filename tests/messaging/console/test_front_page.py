"""The admin's first page: what needs somebody, before the lists of records."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from messaging.console import front_page
from messaging.models import OutboxMessage
from messaging.operating import pauses
from messaging.operating.decision_log import Operator
from tests.messaging import facts
from tests.messaging.console_pages import LIST, QUEUES, SignIn
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

FRONT = "/admin/"


def text_of(client: Client) -> str:
    return client.get(FRONT).content.decode()


def recorded(revision: int, **row: Any) -> None:
    OutboxMessage.objects.create(
        event_id=uuid4(),
        type="material.published",
        material_id="article-107",
        revision=revision,
        body=b"{}",
        **row,
    )


def test_it_opens_with_what_needs_somebody_and_the_way_to_each(sign_in: SignIn) -> None:
    died(facts.published(), reason="TimeoutError")
    died(facts.published("article-108"), consumer="audit", reason="MalformedEvent")
    recorded(1, state="failed")
    recorded(2, created_at=timezone.now() - timedelta(hours=2))
    pauses.pause("audit", operator=Operator("olga"), reason="a new index")

    page = text_of(sign_in("view_deadletter", "view_outboxmessage"))

    needed, _, lists = page.partition('id="everything"')
    assert "2 dead letters are open and wait for a decision." in needed
    assert f'href="{LIST}?consumer=catalog&amp;reason=TimeoutError' in needed
    assert f'href="{LIST}?consumer=audit&amp;reason=MalformedEvent' in needed
    assert "The relay has given up 1 message of the outbox." in needed
    assert "1 message waits in the outbox, for 2 h already." in needed
    assert "audit: paused by olga" in needed
    assert f'href="{QUEUES}#pausing"' in needed
    assert f'href="{LIST}"' in lists


def test_only_the_largest_incidents_are_listed(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_page, "MOST_GROUPS", 2)
    for reason, count in (("One", 1), ("Two", 2), ("Three", 3)):
        for number in range(count):
            died(facts.published(f"article-{count}-{number}"), reason=reason)

    page = text_of(sign_in("view_deadletter"))

    assert page.index("reason=Three") < page.index("reason=Two")
    assert "reason=One" not in page
    assert 'href="/admin/messaging/deadletter/failures/"' in page


def test_whoever_has_nothing_to_do_with_delivery_is_not_told_of_it(sign_in: SignIn) -> None:
    died(facts.published())

    assert "What needs somebody" not in text_of(sign_in())
    paused_by = text_of(sign_in("pause_delivery"))
    assert "What needs somebody" in paused_by
    assert "reason=" not in paused_by


def test_more_letters_cost_no_more_queries(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    died(facts.published("article-1"))
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(FRONT)
    for number in range(2, 9):
        died(facts.published(f"article-{number}"))

    with CaptureQueriesContext(connection) as many:
        client.get(FRONT)

    assert len(many) <= len(few) <= 16


def test_a_list_is_called_there_what_its_page_is_called(admin_client: Client) -> None:
    apps = admin_client.get(FRONT).context["app_list"]

    listed = [each for app in apps for each in app["models"] if app["app_label"] == "messaging"]
    assert {"Outbox", "Decision log", "Queues"} <= {each["name"] for each in listed}
    for each in listed:
        if each["model"] in admin.site._registry:
            assert admin_client.get(each["admin_url"]).context["title"] == each["name"]


def test_the_zone_of_the_times_is_said_once_on_every_page(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter", "view_outboxmessage")

    for path in (FRONT, LIST, QUEUES, "/admin/messaging/outboxmessage/"):
        assert client.get(path).content.decode().count("Times are in UTC.") == 1, path
