"""Where each revision is right now, as the history and its live fragment tell it."""

import time
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import DEFAULT_DB_ALIAS, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from materials import actions, holdups
from materials.delivery import Journey, journeys
from materials.models import Material, Revision
from messaging import registry
from messaging.broker.inspection import QueueDepth
from messaging.broker.sessions import topology
from messaging.models import InboxReceipt, OutboxMessage, Pause
from messaging.operating.pruning import Pruning
from messaging.operating.receipt_pruning import prune_receipts
from tests.materials.at_once import at_once
from tests.materials.makers import draft, failure, letter, person, published, receipt, sent
from tests.materials.test_editor_pages import EVERYTHING, text_of

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
RUNNING = holdups.Look(
    relay_leads=True,
    broker_answers=True,
    queues={"catalog": QueueDepth(ready=0, consumers=1), "audit": QueueDepth(ready=0, consumers=1)},
)


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch):
    """Set what a look at relay, broker and queues finds."""

    def are(look: holdups.Look) -> None:
        monkeypatch.setattr(holdups, "look", lambda: look)

    are(RUNNING)
    return are


def test_many_who_ask_at_once_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    def look_slowly() -> holdups.Look:
        looks.append(RUNNING)
        time.sleep(0.05)  # Only for those who would not wait to come in between.
        return RUNNING

    monkeypatch.setattr(holdups, "_look", look_slowly)
    holdups.forget()
    try:
        assert at_once([holdups.look] * 8) == [RUNNING] * 8
    finally:
        holdups.forget()

    assert len(looks) == 1


def journey(number: int = 1) -> Journey:
    revision = Revision.objects.get(number=number)
    return journeys([revision])[revision.event_id]


def states(number: int = 1) -> list[str]:
    return [station.state for station in journey(number).stations]


def long_ago(*, seconds: float = 60) -> None:
    """Everything saved and sent so far, moved into the past."""
    then = timezone.now() - timedelta(seconds=seconds)
    Revision.objects.update(happened_at=then)
    OutboxMessage.objects.filter(state="sent").update(sent_at=then + timedelta(seconds=1))


# --- stations ----------------------------------------------------------------------------------


def test_a_fact_that_is_just_saved_is_on_its_way() -> None:
    published()

    assert states() == ["settled", "waiting", "ahead", "ahead"]
    assert journey().stations[1].says == "On its way."
    assert journey().summary == "waiting"


def test_each_station_tells_its_moment_and_the_time_since_the_one_before() -> None:
    published()
    sent("article-107", 1)
    long_ago(seconds=60)
    then = Revision.objects.get().happened_at
    receipt("article-107", 1, "catalog", handled_at=then + timedelta(seconds=1.5))
    receipt("article-107", 1, "audit", handled_at=then + timedelta(seconds=3))

    way = journey()

    assert [station.name for station in way.stations] == ["saved", "sent", "catalog", "audit"]
    assert [station.took for station in way.stations] == [
        None,
        timedelta(seconds=1),
        timedelta(seconds=0.5),
        timedelta(seconds=2),
    ]
    assert way.is_settled
    assert way.summary == "arrived"


def test_a_receipt_older_than_the_confirmation_took_no_negative_time() -> None:
    published()
    receipt("article-107", 1, handled_at=timezone.now())
    sent("article-107", 1, timezone.now() + timedelta(seconds=1))

    assert journey().stations[2].took == timedelta(0)


def test_what_has_arrived_before_the_confirmation_was_noted_is_no_mystery() -> None:
    published()
    receipt("article-107", 1)

    assert "has arrived" in journey().stations[1].says


def test_a_fact_whose_outbox_row_was_cleaned_up_counts_as_sent() -> None:
    published()
    OutboxMessage.objects.all().delete()
    receipt("article-107", 1)
    receipt("article-107", 1, "audit")

    assert states() == ["settled"] * 4


def test_a_fact_of_which_no_record_is_left_is_settled_and_says_so() -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1)
    receipt("article-107", 1, "audit")
    a_year_ago = timezone.now() - timedelta(days=365)
    OutboxMessage.objects.update(created_at=a_year_ago, sent_at=a_year_ago)
    InboxReceipt.objects.update(handled_at=a_year_ago)
    clean_up(before=timezone.now() - timedelta(days=30))

    way = journey()

    assert [station.state for station in way.stations] == ["settled"] * 4
    assert "has been cleaned up" in way.stations[2].says
    assert way.is_settled
    assert way.summary == "arrived"


def clean_up(*, before: datetime) -> None:
    """As `prune_delivery` does, with nothing in any queue."""
    pruning = Pruning(before=before, using=DEFAULT_DB_ALIAS)
    pruning.outbox()
    empty = {name: QueueDepth(ready=0, consumers=1) for name in topology().queue_names()}
    for consumer in registry.consumers():
        prune_receipts(
            pruning, consumer, topology=topology(), look=lambda: empty, now=timezone.now()
        )
    assert not InboxReceipt.objects.exists()


def test_a_consumer_is_no_station_of_a_fact_that_it_does_not_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_withdrawals = replace(
        registry.consumer("audit"), name="farewells", patterns=("*.withdrawn",)
    )
    monkeypatch.setitem(registry._consumers, "farewells", of_withdrawals)
    published()
    actions.withdraw("article-107", actor="ada")

    stations = [[station.name for station in journey(number).stations] for number in (1, 2)]

    assert stations == [
        ["saved", "sent", "catalog", "audit"],
        ["saved", "sent", "catalog", "audit", "farewells"],
    ]


@pytest.mark.parametrize(
    ("look", "says"),
    [
        (holdups.Look(relay_leads=True, broker_answers=False), "The broker does not answer"),
        (holdups.Look(relay_leads=False, broker_answers=True), "Waits for the relay"),
        (RUNNING, "The broker has not confirmed yet"),
    ],
)
def test_what_is_late_to_be_sent_says_what_it_waits_for(ways, look: holdups.Look, says) -> None:
    published()
    long_ago()
    ways(look)

    assert says in journey().stations[1].says


@pytest.mark.parametrize(
    ("look", "says"),
    [
        (holdups.Look(relay_leads=True, broker_answers=False), "The broker does not answer"),
        (holdups.Look(relay_leads=True, broker_answers=True), "Its queue is not there"),
        (
            holdups.Look(
                relay_leads=True, broker_answers=True, queues={"catalog": QueueDepth(3, 0)}
            ),
            "its consumer is not connected",
        ),
        (
            holdups.Look(
                relay_leads=True, broker_answers=True, queues={"catalog": QueueDepth(3, 1)}
            ),
            "where 3 messages wait",
        ),
        (RUNNING, "has not answered yet"),
    ],
)
def test_what_is_late_to_be_handled_says_what_it_waits_for(ways, look: holdups.Look, says) -> None:
    published()
    sent("article-107", 1)
    long_ago()
    ways(look)

    assert says in journey().stations[2].says
    assert journey().summary == "sent"


@pytest.mark.parametrize("target", [registry.RELAY, "catalog"])
def test_what_an_operator_has_paused_says_who_holds_it_and_until_when(ways, target: str) -> None:
    published()
    if target == "catalog":
        sent("article-107", 1)
    long_ago()
    station = 2 if target == "catalog" else 1
    until = timezone.now() + timedelta(days=2)
    paused = Pause(target=target, reason="The disk\u202e is changed", until=until)
    # Stopped for the pause: nobody leads and no consumer is connected then.
    ways(
        holdups.Look(
            relay_leads=False,
            broker_answers=True,
            queues={"catalog": QueueDepth(3, 0)},
            paused={target: paused},
        )
    )

    said = f"Paused by an operator until {date_format(until, 'j M Y, H:i')}: "
    assert journey().stations[station].says == said + "The disk\\u202e is changed"
    paused.until = None
    assert "Paused by an operator: The disk" in journey().stations[station].says
    if target == "catalog":
        failure("article-107", 1, failed_at=timezone.now() - timedelta(minutes=5))
        assert "Paused by an operator: The disk" in journey().stations[station].says
        letter("article-107", 1, state="requeued", requeued_at=timezone.now())
        says = journey().stations[station].says
        assert "Sent again by an operator" in says
        assert "Paused by an operator: The disk" in says


def test_the_line_about_a_pause_goes_when_it_ends(editor: Client, ways) -> None:
    published()
    Pause.objects.create(target="catalog", reason="Inventory", operator="olga")
    page = editor.get("/editor/article-107/history/")
    assert "Delivery to “catalog” is paused" in text_of(page)
    address = f"/editor/article-107/delivery/1/?seen={page.context['rows'][0][2]}"
    assert editor.get(address, headers=HTMX).status_code == 204

    Pause.objects.all().delete()

    fragment = editor.get(address, headers=HTMX).content.decode()
    assert '<div id="paused" hx-swap-oob="true">' in fragment
    assert "is paused" not in fragment


def test_a_fact_that_the_broker_did_not_take_says_when_it_is_tried_again() -> None:
    published()
    due_at = timezone.now() + timedelta(seconds=8)
    OutboxMessage.objects.update(attempts=3, due_at=due_at)

    assert states()[1] == "retrying"
    assert f"Trying again about {due_at:%H:%M:%S}" in journey().stations[1].says


def test_a_parked_fact_is_in_trouble() -> None:
    published()
    OutboxMessage.objects.update(state="failed")

    assert states() == ["settled", "dead", "ahead", "ahead"]
    assert journey().summary == "trouble"


def test_a_retried_fact_tells_its_attempt_and_the_next_moment(settings) -> None:
    published()
    sent("article-107", 1)
    failed_at = timezone.now()
    failure("article-107", 1, attempt=0, failed_at=failed_at - timedelta(seconds=9))
    failure("article-107", 1, attempt=1, failed_at=failed_at)
    settings.DELIVERY_RETRY_DELAY_MS = 5000

    station = journey().stations[2]

    assert station.state == "retrying"
    assert "Attempt 3 of 4" in station.says
    assert f"{failed_at + timedelta(seconds=5):%H:%M:%S}" in station.says
    assert journey().summary == "retrying"


@pytest.mark.parametrize("fields", [{"attempt": 3}, {"transient": False}])
def test_a_fact_that_failed_for_good_is_dead_before_anybody_has_collected_it(fields) -> None:
    published()
    sent("article-107", 1)
    failure("article-107", 1, **fields)

    assert states()[2] == "dead"
    assert journey().summary == "trouble"


def test_attempts_before_a_redrive_count_no_more(ways) -> None:
    published()
    sent("article-107", 1)
    failure("article-107", 1, attempt=3, counted=False)

    assert states()[2] == "waiting"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("open", "dead"),
        ("discarded", "dead"),
        ("requeued", "retrying"),
        ("resolved", "superseded"),
    ],
)
def test_a_dead_letter_is_told_by_its_state(state: str, told: str) -> None:
    published()
    sent("article-107", 1)
    letter("article-107", 1, state=state, requeued_at=timezone.now())

    assert states()[2] == told


def test_a_receipt_outweighs_a_letter_of_the_same_fact() -> None:
    published()
    sent("article-107", 1)
    letter("article-107", 1, state="requeued", requeued_at=timezone.now())
    receipt("article-107", 1)

    assert states()[2] == "settled"


def test_a_fact_that_came_after_a_newer_one_says_so() -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1, outcome=InboxReceipt.Outcome.STALE)

    station = journey().stations[2]

    assert station.state == "superseded"
    assert "a newer revision was there first" in station.says


def test_many_revisions_need_as_many_queries_as_one() -> None:
    published()
    for number in range(2, 8):
        actions.edit("article-107", title=f"Title {number}", actor="ada")
        actions.publish("article-107", actor="ada")

    def queries(count: int) -> int:
        revisions = list(Revision.objects.all()[:count])
        with CaptureQueriesContext(connection) as captured:
            journeys(revisions)
        return len(captured)

    assert queries(7) == queries(1) <= 4


# --- the pages ---------------------------------------------------------------------------------


def test_the_history_polls_what_is_under_way_and_leaves_what_is_settled(editor: Client) -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1)
    receipt("article-107", 1, "audit")
    actions.edit("article-107", title="Second", actor="ada")
    actions.publish("article-107", actor="ada")

    page = editor.get("/editor/article-107/history/").content.decode()

    assert page.count("hx-get=") == 1
    assert 'hx-get="/editor/article-107/delivery/2/?seen=' in page
    assert page.count('aria-live="polite"') == 2
    assert "Superseded by revision 2." in page


def test_the_fragment_is_sent_only_where_something_has_changed(editor: Client) -> None:
    published()
    first = editor.get("/editor/article-107/delivery/1/", headers=HTMX)
    address = f"/editor/article-107/delivery/1/?seen={first.context['state']}"

    assert editor.get(address, headers=HTMX).status_code == 204
    sent("article-107", 1)
    changed = editor.get(address, headers=HTMX)

    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()
    assert 'class="station settled"' in changed.content.decode()


def test_a_settled_fragment_asks_no_more(editor: Client) -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1)
    receipt("article-107", 1, "audit")

    response = editor.get("/editor/article-107/delivery/1/", headers=HTMX)

    assert 'hx-get="' not in response.content.decode()


def test_a_fragment_opened_by_itself_leads_to_its_place_in_the_history(editor: Client) -> None:
    published()
    Material.objects.update(revision=60)

    response = editor.get("/editor/article-107/delivery/1/")

    assert response["Location"] == "/editor/article-107/history/?page=2#revision-1"


@pytest.mark.parametrize("number", ["0", "2", str(2**63), "9" * 300])
def test_there_is_no_delivery_of_a_revision_that_is_not_there(editor: Client, number: str) -> None:
    published()

    assert editor.get(f"/editor/article-107/delivery/{number}/").status_code == 404


def test_a_fragment_does_not_bring_the_login_page(client: Client) -> None:
    published()

    response = client.get("/editor/article-107/delivery/1/", headers={"HX-Request": "true"})

    assert response.status_code == 401


def test_operators_get_a_way_to_the_letter_and_editors_do_not(editor: Client) -> None:
    published()
    sent("article-107", 1)
    number = letter("article-107", 1).pk
    page = editor.get("/editor/article-107/history/").content.decode()
    assert "waits for an operator" in page
    assert f"deadletter/{number}" not in page

    operator = person("view", username="olga")
    operator.is_staff = operator.is_superuser = True
    operator.save()
    editor.force_login(operator)

    text = text_of(editor.get("/editor/article-107/history/"))
    assert "waits for an operator" in text


def test_a_draft_has_no_delivery(editor: Client) -> None:
    draft()

    assert "hx-get" not in editor.get("/editor/article-107/history/").content.decode()


# --- a look at the ways ------------------------------------------------------------------------


def test_a_broker_that_is_away_is_told_and_not_asked_again_at_once(monkeypatch) -> None:
    holdups.forget()
    asked = []
    real = holdups.inspect_queues

    def inspect(*arguments, **options):
        asked.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(holdups, "inspect_queues", inspect)

    assert not holdups.look().broker_answers
    assert not holdups.look().relay_leads
    assert len(asked) == 1
    holdups.forget()
