"""The list of dead letters: what it shows, what narrows it, and what it costs."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from messaging.broker.address import BrokerAddress
from messaging.models import DeadLetter
from tests.messaging import facts
from tests.messaging.console_pages import ALL_RIGHTS, LIST, SignIn, decision_url
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db


def shown(page: Any) -> set[int]:
    return {letter.pk for letter in page.context["cl"].result_list}


def test_it_opens_on_what_waits_for_a_decision(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    waiting = died(facts.published())
    settled = died(facts.published("article-108"))
    DeadLetter.objects.filter(pk=settled.pk).update(state="discarded")

    page = client.get(LIST)

    assert shown(page) == {waiting.pk}
    assert '<a href="?state=all">Show all</a>' in page.content.decode()
    assert shown(client.get(LIST, {"state": "all"})) == {waiting.pk, settled.pk}
    assert shown(client.get(LIST, {"state": "discarded"})) == {settled.pk}


@pytest.mark.parametrize(
    "narrowed",
    [
        {"consumer": "audit"},
        {"reason": "MalformedEvent"},
        {"type": "material.withdrawn"},
        {"since": "2026-01-05", "until": "2026-01-06"},
        {"q": "of this very text"},
        {"q": "article-555"},
    ],
    ids=lambda narrowed: "-".join(narrowed),
)
def test_each_filter_and_the_search_find_their_letters_alone(
    sign_in: SignIn, narrowed: dict[str, str]
) -> None:
    client = sign_in("view_deadletter", "view_payload")
    wanted = died(
        facts.withdrawn("article-555", reason="Because of this very text"),
        consumer="audit",
        reason="MalformedEvent",
        at=datetime(2026, 1, 5, 12, tzinfo=UTC),
    )
    died(facts.published(), at=datetime(2026, 2, 1, tzinfo=UTC))

    page = client.get(LIST, narrowed)

    assert shown(page) == {wanted.pk}


@pytest.mark.any_database  # a PostgreSQL of the tests has the collation C
@pytest.mark.parametrize("words", ["ОЧЕРЕДЬ ждёт", "очередь ЖДЁТ", "(очередь Ждёт"])
def test_words_are_found_in_upper_and_lower_case_alike(sign_in: SignIn, words: str) -> None:
    client = sign_in("view_deadletter", "view_payload")
    wanted = died("(Очередь ждёт (и ждёт".encode())
    died("очередь; ждёт".encode())

    assert shown(client.get(LIST, {"q": words})) == {wanted.pk}


def test_a_letter_is_found_by_its_event_id(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    event = facts.published()
    wanted = died(event)
    died(facts.published("article-108"))

    assert shown(client.get(LIST, {"q": event.event_id})) == {wanted.pk}


def test_a_search_for_words_reads_the_newest_letters_and_says_so(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("messaging.letters.search", "messaging.console.letters"):
        monkeypatch.setattr(f"{module}.SEARCHED", 2)
    client = sign_in(*ALL_RIGHTS)
    old, middle, newest = (
        died(facts.published(f"article-{day}"), at=datetime(2026, 1, day, tzinfo=UTC))
        for day in (1, 2, 3)
    )

    page = client.get(LIST, {"q": "A title"})
    all_of_them = client.get(decision_url("requeue", all="1", q="A+title"))

    assert shown(page) == {middle.pk, newest.pk}
    assert "the newest 2 letters" in page.content.decode()
    assert "Requeue 2 letters" in all_of_them.content.decode()
    narrowed = client.get(LIST, {"q": "A title", "until": "2026-01-02"})
    by_id = client.get(LIST, {"q": "article-1"})
    for found in (narrowed, by_id):
        assert shown(found) == {old.pk}
        assert "the newest 2 letters" not in found.content.decode()


def test_a_page_far_back_shows_its_own_letters_in_order(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.console.letters.LetterAdmin.list_per_page", 2)
    client = sign_in("view_deadletter")
    letters = [
        died(facts.published(f"article-{day}"), at=datetime(2026, 1, day, tzinfo=UTC))
        for day in range(5, 0, -1)
    ]

    pages = [client.get(LIST, {"p": number}) for number in (1, 2, 3)]

    found = [letter.pk for page in pages for letter in page.context["cl"].result_list]
    assert found == [letter.pk for letter in letters]


def test_whoever_may_not_see_bodies_cannot_search_them(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    died(facts.published(title="A secret word"))

    assert shown(client.get(LIST, {"q": "secret word"})) == set()


@pytest.mark.parametrize(
    "query",
    [
        "since=nonsense",
        "since=2026-02-31",
        "q=%00",
        "p=99999",
        "state=x",
        "place=x",
        "reason=%22",
    ],
)
def test_no_address_breaks_the_page(sign_in: SignIn, query: str) -> None:
    client = sign_in("view_deadletter")
    died(facts.published())

    assert client.get(f"{LIST}?{query}").status_code in (200, 302)


def test_more_letters_cost_no_more_queries_and_bodies_are_not_read(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)

    def queries() -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(LIST).status_code == 200
        return [query["sql"] for query in captured.captured_queries]

    died(facts.published())
    queries()  # content types and the like are read once
    few = queries()
    for number in range(30):
        died(facts.published("article-1", number + 1))
    many = queries()

    assert len(many) == len(few)
    assert not [sql for sql in many if '"messaging_deadletter"."body"' in sql]
    counts = [sql for sql in many if "COUNT(" in sql and "deadletter" in sql]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)


def test_a_letter_that_a_newer_revision_has_overtaken_is_marked(sign_in: SignIn) -> None:
    from tests.messaging.test_admin import receipt

    client = sign_in("view_deadletter")
    died(facts.published("article-107", 3))
    receipt(consumer="catalog", material_id="article-107", revision=4)

    assert "superseded" in client.get(LIST).content.decode()


def test_with_the_broker_down_it_says_so_in_words_without_the_password(
    sign_in: SignIn, settings: Settings
) -> None:
    settings.AMQP = BrokerAddress.parse("amqp://operator:s3cret-word@127.0.0.1:9/%2F")
    client = sign_in("view_deadletter")
    died(facts.published())

    text = client.get(LIST).content.decode()

    assert "cannot be told now" in text
    assert "s3cret-word" not in text


def test_chosen_letters_go_to_the_page_that_asks_and_the_filters_go_along(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letter = died(facts.published())
    action = {"action": "requeue_chosen", "_selected_action": [str(letter.pk)]}

    asked = client.post(f"{LIST}?consumer=catalog", action)

    where = urlsplit(asked["Location"])
    assert where.path == f"{LIST}requeue/"
    assert parse_qs(where.query) == {"ids": [str(letter.pk)], "consumer": ["catalog"]}
    assert client.get(asked["Location"]).status_code == 200
    assert DeadLetter.objects.get().state == "open"  # asking changes nothing
    done = client.post(asked["Location"])
    assert done["Location"] == f"{LIST}?consumer=catalog"
    assert DeadLetter.objects.get().state == "requeued"


def test_all_that_match_need_not_be_ticked(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    died(facts.published())
    page = client.get(f"{LIST}?consumer=catalog").content.decode()
    assert "1 letter matches." in page
    assert '<option value="1">the one that matches</option>' in page

    asked = client.post(
        f"{LIST}?consumer=catalog",
        {"action": ["requeue_chosen", "discard_chosen"], "index": "1", "select_across": "1"},
    )

    where = urlsplit(asked["Location"])
    assert where.path == f"{LIST}discard/"
    assert parse_qs(where.query) == {"all": ["1"], "consumer": ["catalog"]}
    looking = sign_in("view_deadletter")
    refused = looking.post(LIST, {"action": "discard_chosen", "index": "0", "select_across": "1"})
    assert "discard/" not in refused.get("Location", "")
    assert DeadLetter.objects.get().state == "open"


def test_how_many_wait_is_said_above_them(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    for number in range(3):
        died(facts.published(f"article-{number}"))

    assert "3 letters wait for a decision." in client.get(LIST).content.decode()


def test_all_that_match_are_decided_over_and_no_others(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    for revision in range(1, 4):
        died(facts.published("article-107", revision))
    other = died(facts.published("article-107", 9), consumer="audit")

    client.post(decision_url("requeue", all="1", consumer="catalog"))

    assert DeadLetter.objects.filter(state="requeued", consumer="catalog").count() == 3
    assert DeadLetter.objects.get(pk=other.pk).state == "open"


def test_failures_are_grouped_with_their_trend_and_lead_to_their_letters(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    for revision in range(1, 4):
        died(facts.published("article-107", revision))
    odd = died(b"not an event", reason="MalformedEvent")

    page = client.get(f"{LIST}failures/")

    rows = page.context["rows"]
    assert [(row.group.reason, row.group.letters) for row in rows] == [
        ("SimulatedTransientError", 3),
        ("MalformedEvent", 1),
    ]
    assert [row.of_late for row in rows] == [3, 1]
    assert "<svg" in page.content.decode()
    assert shown(client.get(rows[1].url)) == {odd.pk}


def test_the_trend_of_a_failure_is_the_same_in_a_zone_of_half_an_hour(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    died(facts.published())

    with timezone.override("Asia/Kolkata"):
        page = client.get(f"{LIST}failures/")

    assert [row.of_late for row in page.context["rows"]] == [1]


def test_a_list_offers_what_can_be_decided_over_its_letters(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    states = ("open", "requeued", "resolved", "discarded")
    for state in states:
        letter = died(facts.published(f"article-{state}"))
        DeadLetter.objects.filter(pk=letter.pk).update(state=state)
    verbs = ("requeue", "discard", "restore")

    def offered(state: str) -> list[str]:
        page = client.get(LIST, {"state": state}).content.decode()
        chosen = [verb for verb in verbs if f'value="{verb}_chosen"' in page]
        assert chosen == [verb for verb in verbs if f">{verb.capitalize()}…</button>" in page]
        return chosen

    assert {state: offered(state) for state in states} == {
        "open": ["requeue", "discard"],
        "requeued": ["requeue", "discard"],
        "resolved": [],
        "discarded": ["restore"],
    }
    assert offered("all") == list(verbs)
    DeadLetter.objects.all().delete()
    assert offered("open") == []


def test_in_russian_no_number_or_filter_asks_a_name_for_a_case(sign_in: SignIn) -> None:
    client = sign_in("view_deadletter")
    for number in range(3):
        died(facts.published(f"article-{number}"))

    page = client.get(LIST, headers={"accept-language": "ru"}).content.decode()

    assert "Всего: 3" in page
    assert "<summary>Состояние</summary>" in page
    assert "<summary>Получатель</summary>" in page
    assert 'data-name="Получатель"' in page
    for wrong in ("3 недоставленные", "По состояние", "Consumer"):
        assert wrong not in page
