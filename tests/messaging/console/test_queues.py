"""The queues' page: what waits, how fast it goes, what is wrong; pausing from it."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override

from messaging import registry
from messaging.console import pace_charts
from messaging.console.charts import bars, line, outline
from messaging.console.remedies import advise
from messaging.console.spans import span
from messaging.models import InboxReceipt, OperatorDecision, OutboxMessage, Pause
from messaging.operating import pace, pauses
from messaging.operating.decision_log import Operator
from messaging.operating.problems import Kind, Problem
from tests.messaging.console_pages import ALL_RIGHTS, QUEUES, SignIn

pytestmark = pytest.mark.django_db


def handled(*, minutes_ago: float, seconds: float, consumer: str = "catalog") -> None:
    """A fact published so long ago, and applied so many seconds later."""
    at = timezone.now() - timedelta(minutes=minutes_ago)
    fact = {"event_id": uuid4(), "type": "material.published", "material_id": "article-1"}
    revision = 1 + OutboxMessage.objects.count()
    OutboxMessage.objects.create(
        **fact, revision=revision, body=b"{}", state="sent", created_at=at, sent_at=at
    )
    InboxReceipt.objects.create(
        **fact,
        consumer=consumer,
        revision=revision,
        fingerprint=bytes(32),
        content_fingerprint=bytes(32),
        handled_at=at + timedelta(seconds=seconds),
    )


def said(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def test_throughput_and_quantiles_are_those_of_the_last_hour_and_day() -> None:
    for number in range(1, 101):
        handled(minutes_ago=30, seconds=number / 10)
    handled(minutes_ago=600, seconds=50)
    handled(minutes_ago=3000, seconds=99)

    hour, day = pace.paces(
        registry.consumer("catalog"), [(timedelta(hours=1), 12), (timedelta(days=1), 24)]
    )

    assert (hour.whole.handled, day.whole.handled) == (100, 101)
    assert (hour.whole.p50, hour.whole.p95, hour.whole.p99) == pytest.approx((5.0, 9.5, 9.9))
    assert sum(spell.handled for spell in hour.spells) == 100
    assert not hour.is_cut


def test_a_pace_that_does_not_reach_back_says_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MOST_RECEIPTS", 3)
    for minutes in (50, 40, 30, 20):
        handled(minutes_ago=minutes, seconds=1)

    (hour,) = pace.paces(registry.consumer("catalog"), [(timedelta(hours=1), 12)])

    assert hour.is_cut
    assert hour.whole.handled == 3
    assert timezone.now() - hour.since < timedelta(minutes=41)


def test_what_lies_beyond_many_receipts_of_others_is_left_out_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "REACH", 3)
    for minutes in (55, 50):
        handled(minutes_ago=minutes, seconds=1)
    for minutes in (40, 30):
        handled(minutes_ago=minutes, seconds=1, consumer="audit")

    def last_hour(consumer: str) -> pace.Pace:
        return pace.paces(registry.consumer(consumer), [(timedelta(hours=1), 12)])[0]

    for name, seen in (("catalog", 1), ("audit", 2)):
        assert last_hour(name).whole.handled == seen
        assert last_hour(name).is_cut
        assert timedelta(minutes=54) < timezone.now() - last_hour(name).since

    monkeypatch.setattr(pace, "REACH", 4)
    assert last_hour("catalog").whole.handled == 2
    assert not last_hour("catalog").is_cut


def test_the_page_has_charts_and_the_same_figures_in_a_table(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)
    for _ in range(4):
        handled(minutes_ago=10, seconds=2)

    page = client.get(QUEUES).content.decode()

    assert "<polyline" in page
    assert 'class="num">2 s</td>' in page
    assert "from publishing to the receipt, at most 2 s" in page
    assert "unsafe-inline" not in client.get(QUEUES)["Content-Security-Policy"]
    assert " style=" not in page


def test_more_receipts_and_letters_cost_no_more_queries(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(QUEUES)
        return len(captured)

    handled(minutes_ago=10, seconds=2)
    queries()
    few = queries()
    for _ in range(30):
        handled(minutes_ago=10, seconds=2)

    assert queries() == few


def test_the_fact_that_waits_longest_is_found() -> None:
    at = timezone.now() - timedelta(minutes=7)
    handled(minutes_ago=10, seconds=2)
    OutboxMessage.objects.create(
        event_id=uuid4(),
        type="material.published",
        material_id="article-2",
        revision=1,
        body=b"{}",
        state="sent",
        sent_at=at,
    )

    assert pace.oldest_unhandled(registry.consumer("catalog")) == at


def test_a_fact_that_a_consumer_does_not_take_never_waits_for_it() -> None:
    OutboxMessage.objects.create(
        event_id=uuid4(),
        type="material.published",
        material_id="article-2",
        revision=1,
        body=b"{}",
        state="sent",
        sent_at=timezone.now(),
    )
    of_withdrawals = replace(registry.consumer("catalog"), patterns=("*.withdrawn",))

    assert pace.oldest_unhandled(of_withdrawals) is None


def test_each_problem_has_its_sentence_and_its_next_step_in_both_languages() -> None:
    named = {
        "count": 3,
        "seconds": 99.0,
        "name": "delivery.catalog",
        "target": "catalog",
        "operator": "olga",
        "since": "2026-01-01 00:00:00 UTC",
        "until": "2026-01-02 00:00:00 UTC",
        "reason": "why",
        "said": "no connection",
    }
    problems = [Problem(kind, **named) for kind in Kind]

    said = {}
    for language in ("en", "ru"):
        with override(language):
            said[language] = [advise(problem) for problem in problems]

    for advice in said.values():
        assert len({each.said for each in advice}) == len({each.step for each in advice})
        assert len({each.step for each in advice}) == len(problems)
    assert all(
        one.said != other.said and one.step != other.step
        for one, other in zip(said["en"], said["ru"], strict=True)
    )


def test_a_pause_from_the_page_is_kept_with_reason_and_end_and_shown(sign_in: SignIn) -> None:
    client = sign_in(*ALL_RIGHTS, name="olga")

    answer = client.post(
        f"{QUEUES}hold/", {"target": "catalog", "reason": "moving <b>house</b>", "minutes": "15"}
    )

    pause = Pause.objects.get()
    assert (pause.target, pause.operator, pause.reason) == (
        "catalog",
        "olga",
        "moving <b>house</b>",
    )
    assert pause.until is not None
    assert timedelta(minutes=14) < pause.until - timezone.now() < timedelta(minutes=16)
    page = client.get(answer["Location"]).content.decode()
    assert "Resume catalog" in page
    assert "moving &lt;b&gt;house&lt;/b&gt;" in page

    client.post(f"{QUEUES}resume/", {"target": "catalog"})
    assert not Pause.objects.exists()
    actions = OperatorDecision.objects.order_by("pk").values_list("action", "operator")
    assert list(actions) == [("pause", "olga"), ("resume", "olga")]


@pytest.mark.parametrize(
    "data",
    [
        {"target": "nobody", "reason": "why"},
        {"target": "catalog", "reason": "  "},
        {"target": "catalog", "reason": "x" * 501},
        {"target": "catalog", "reason": "why", "until": "2001-01-01T00:00"},
        {"target": "catalog", "reason": "why", "until": "soon"},
        {"target": "catalog", "reason": "why", "minutes": "-5"},
        {},
    ],
)
def test_a_wrong_pause_is_refused_with_a_sentence(sign_in: SignIn, data: dict[str, str]) -> None:
    client = sign_in(*ALL_RIGHTS)

    answer = client.post(f"{QUEUES}hold/", data)
    looked_at_again = client.get(f"{QUEUES}hold/"), client.get(f"{QUEUES}resume/")

    assert said(answer)
    assert [each["Location"] for each in looked_at_again] == [QUEUES, QUEUES]
    assert not Pause.objects.exists()


def test_a_pause_whose_time_is_over_holds_no_longer() -> None:
    past = timezone.now() - timedelta(seconds=1)
    pauses.pause("catalog", operator=Operator("olga"), reason="why", until=past)

    assert pauses.active() == []
    assert not pauses.resume("catalog", operator=Operator("olga"))


def test_editors_are_told_that_delivery_is_paused(admin_client: Client) -> None:
    assert "paused" not in admin_client.get("/editor/").content.decode()

    pauses.pause(registry.RELAY, operator=Operator("olga"), reason="moving house")

    page = admin_client.get("/editor/").content.decode()
    assert "what you publish is kept and goes out later" in page
    assert "moving house" in page


def test_the_page_needs_the_right_to_letters_or_to_pauses(sign_in: SignIn) -> None:
    assert sign_in("pause_delivery").get(QUEUES).status_code == 200
    assert sign_in("view_deadletter").get(QUEUES).status_code == 200
    assert sign_in("view_payload").get(QUEUES).status_code == 403
    watcher = sign_in("view_deadletter").get(QUEUES).content.decode()
    assert "<form" not in watcher.split("<main")[1]
    assert User.objects.count() == 4


def test_bars_and_lines_keep_to_their_chart() -> None:
    drawn = bars([0, 1, 1000], width=30, height=10)
    assert [bar.height for bar in drawn] == ["0.0", "1.5", "10.0"]
    assert drawn[2].y == "0.0"
    assert line([1.0, None, 2.0, 2.0], top=2.0, width=40, height=10) == [
        "2.0,5.0 8.0,5.0",
        "25.0,0.0 35.0,0.0",
    ]
    assert bars([], width=30, height=10) == []
    assert outline([0, 1, 1000], width=30, height=10) == (
        "M10.0,8.5h9.0v1.5h-9.0zM20.0,0.0h9.0v10.0h-9.0z"
    )


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.85, "850 ms"),
        (1.25, "1.2 s"),
        (12.9, "12 s"),
        (240, "4 min"),
        (3 * 3600, "3 h"),
        (12 * 86400, "12 d"),
        (-5, "0 s"),
    ],
)
def test_a_span_is_one_short_word(seconds: float, shown: str) -> None:
    assert span(seconds) == shown


@pytest.mark.parametrize("seconds", [0.001, 30.0])
def test_the_names_of_lines_that_end_together_stand_apart_and_inside(seconds: float) -> None:
    for minutes in (1, 2, 30):
        handled(minutes_ago=minutes, seconds=30.0 if minutes == 30 else seconds)

    hour, _day = pace_charts.pace_charts(registry.consumer("catalog"))

    heights = sorted(float(line.label_y) for line in hour.lines)
    assert len(heights) == 3
    assert heights[0] >= 0
    assert heights[-1] <= pace_charts.LINE_HEIGHT + 4
    assert all(above + 12 < below for above, below in pairwise(heights))
