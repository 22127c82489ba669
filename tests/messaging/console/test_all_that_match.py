"""Decisions over all that match reach no further than the page had asked about."""

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import OperationalError
from django.test import Client

from messaging import registry
from messaging.console import deciding
from messaging.handling import inbox
from messaging.models import DeadLetter, OperatorBatch
from tests.messaging import facts
from tests.messaging.console_pages import ALL_RIGHTS, SignIn, decision_url
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

DISCARD_ALL = decision_url("discard", all="1")


def hidden_fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\d+)">', page))


def asked(client: Client, address: str) -> dict[str, str]:
    return hidden_fields(client.get(address).content.decode())


def said(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def die_anew(count: int, *, first: int = 1) -> list[DeadLetter]:
    return [died(facts.published(f"article-{first + number}")) for number in range(count)]


def states(*letters: DeadLetter) -> list[str]:
    return [DeadLetter.objects.get(pk=letter.pk).state for letter in letters]


def test_letters_that_die_after_the_question_are_left_out(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    before = die_anew(2)
    fields = asked(client, DISCARD_ALL)
    later = die_anew(3, first=10)

    client.post(DISCARD_ALL, {"note": "old", **fields})

    assert states(*before) == ["discarded"] * 2
    assert states(*later) == ["open"] * 3


def test_letters_that_die_after_the_question_are_left_out_of_a_large_action(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "MOST_IN_A_REQUEST", 1)
    client = sign_in(*ALL_RIGHTS)
    before = die_anew(2)
    fields = asked(client, DISCARD_ALL)
    die_anew(3, first=10)

    client.post(DISCARD_ALL, {"note": "old", **fields})

    batch = OperatorBatch.objects.get()
    assert (batch.matched, batch.newest_id) == (2, before[-1].pk)


def test_it_asks_again_when_older_letters_match_by_now(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letters = die_anew(3)
    DeadLetter.objects.filter(pk=letters[0].pk).update(state="discarded")
    fields = asked(client, DISCARD_ALL)
    DeadLetter.objects.filter(pk=letters[0].pk).update(state="open")

    again = client.post(DISCARD_ALL, {"note": "old", **fields})

    assert again.status_code == 400
    assert states(*letters) == ["open"] * 3
    assert "More letters match now" in again.content.decode()
    client.post(DISCARD_ALL, {"note": "old", **hidden_fields(again.content.decode())})
    assert states(*letters) == ["discarded"] * 3


def test_a_day_that_cannot_be_read_matches_no_letter(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    letters = die_anew(2)

    for narrowed in ({"since": "yesterday"}, {"until": "2026-02-31"}):
        client.post(decision_url("discard", all="1", **narrowed), {"note": "old"})

    assert states(*letters) == ["open"] * 2


def test_what_was_refused_for_its_ids_is_not_taken_for_superseded(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    inbox.handle(registry.consumer("catalog"), [facts.published("article-1", 5)])
    doubtful = [
        died(facts.published("article-1", revision), reason=reason, attempt=0)
        for revision, reason in enumerate(("FactConflict", "MalformedEvent", "UnsupportedEvent"), 1)
    ]
    overtaken = died(facts.published("article-1", 4))

    client.post(decision_url("discard", all="1", superseded="1"), {"note": "overtaken"})

    assert states(*doubtful) == ["open"] * 3
    assert states(overtaken) == ["discarded"]


def test_a_search_that_takes_too_long_is_said_and_decides_nothing(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(*ALL_RIGHTS)
    letters = die_anew(1)

    def time_out(scope: object) -> int:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(deciding.Scope, "capped_count", property(time_out))
    address = decision_url("discard", all="1", q="word", consumer="catalog")

    for response in (client.get(address), client.post(address, {"note": "old", "count": "1"})):
        assert response.status_code == 302
        assert response["Location"].endswith("?consumer=catalog")
        assert "took too long" in said(response)
    assert states(*letters) == ["open"]
