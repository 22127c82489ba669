"""Which copy is a new death, and which the same again: decided for every state of a letter."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from messaging.broker.wire import Delivery
from messaging.letters import dead_letters
from messaging.letters.arrivals import Arrival, read_arrival
from messaging.letters.corrections import correct
from messaging.letters.intake import _Intake, take_in
from messaging.models import DeadLetter, DeadLetterQuerySet, Death
from messaging.operating.decision_log import Operator
from tests.messaging.at_once import at_once
from tests.messaging.dead import died
from tests.messaging.facts import published

pytestmark = pytest.mark.django_db

OLGA = Operator("olga")
NOW = datetime.now(UTC).replace(microsecond=0)
EARLIER = NOW - timedelta(hours=1)
LATER = NOW + timedelta(days=1)
EVENT = published()


def copy(
    at: datetime | None = EARLIER, *, redelivered: bool = False, reason: str = "X", **headers: Any
) -> Arrival:
    delivery = Delivery(
        tag=1,
        redelivered=redelivered,
        body=EVENT.body,
        message_id=EVENT.event_id,
        type=EVENT.type,
        headers={"attempt": 3, "reason": reason, **headers},
        properties={} if at is None else {"timestamp": int(at.timestamp())},
    )
    return read_arrival(delivery, consumer="catalog", now=NOW)


def receive(*copies: Arrival) -> DeadLetter:
    take_in(copies, using="default")
    return DeadLetter.objects.get()


def numbers(letter: DeadLetter) -> tuple[str, int, int, int]:
    """State, deaths, copies, and how many deaths are kept."""
    return (letter.state, letter.deaths, letter.copies, Death.objects.count())


def requeued() -> DeadLetter:
    letter = receive(copy())
    dead_letters.requeue([letter.pk], operator=OLGA)
    return letter


def test_copies_of_one_transaction_are_told_apart_as_those_of_several() -> None:
    letter = receive(copy(), copy(), copy(NOW), copy(redelivered=True))

    assert numbers(letter) == ("open", 1, 3, 2)


def test_of_an_open_letter_the_latest_death_is_shown_and_the_first_is_remembered() -> None:
    receive(copy(NOW, reason="Latest", own="header"))

    letter = receive(copy(EARLIER, reason="Before"))

    assert (letter.reason, letter.died_at, letter.first_died_at) == ("Latest", NOW, EARLIER)
    assert letter.headers["own"] == "header"
    assert numbers(letter) == ("open", 1, 2, 2)


@pytest.mark.parametrize("at", [EARLIER, None])
def test_a_copy_that_was_committed_and_not_acked_changes_nothing(at: datetime | None) -> None:
    letter = receive(copy(at))
    dead_letters.requeue([letter.pk], operator=OLGA)

    again = receive(copy(at, redelivered=True, **{"x-delivery-count": 1}))

    assert numbers(again) == ("requeued", 1, 1, 1)


def test_nor_does_it_where_the_letter_was_discarded() -> None:
    letter = receive(copy())
    dead_letters.discard([letter.pk], operator=OLGA, reason="no")

    assert numbers(receive(copy(redelivered=True))) == ("discarded", 1, 1, 1)


def test_a_first_delivery_is_a_new_death_though_it_looks_like_the_old() -> None:
    requeued()

    assert numbers(receive(copy())) == ("open", 2, 1, 1)


def test_a_redelivered_copy_of_the_second_of_the_requeue_counts_as_new() -> None:
    letter = receive(copy(LATER))
    dead_letters.requeue([letter.pk], operator=OLGA)

    assert numbers(receive(copy(LATER, redelivered=True))) == ("open", 2, 1, 1)


def test_a_new_death_is_shown_though_its_clock_is_behind() -> None:
    letter = receive(copy(NOW, reason="Old"))
    dead_letters.requeue([letter.pk], operator=OLGA)

    again = receive(copy(EARLIER, reason="New"))

    assert (again.state, again.reason, again.died_at) == ("open", "New", EARLIER)
    assert again.first_died_at == EARLIER


@pytest.mark.parametrize("state", ["requeued", "resolved", "discarded"])
def test_a_new_death_opens_a_letter_in_any_state(state: str) -> None:
    letter = receive(copy())
    DeadLetter.objects.update(state=state, changed_at=EARLIER)

    again = receive(copy(NOW))

    assert numbers(again) == ("open", 2, 1, 2)
    assert again.changed_at > EARLIER
    line = letter.decisions.get()
    assert (line.action, line.operator, line.user_id) == ("died_again", "delivery", None)
    assert line.detail == {"from": state, "reason": "X"}


def test_consumers_have_letters_of_their_own() -> None:
    delivery = Delivery(1, False, EVENT.body, None, None, {}, {})
    arrivals = [read_arrival(delivery, consumer=name, now=NOW) for name in ("catalog", "audit")]

    take_in(arrivals, using="default")

    assert DeadLetter.objects.count() == 2


def test_many_new_letters_cost_a_handful_of_statements(django_assert_max_num_queries: Any) -> None:
    deliveries = [Delivery(n, False, b"%d" % n, None, None, {}, {}) for n in range(40)]
    arrivals = [read_arrival(each, consumer="catalog", now=NOW) for each in deliveries]

    with django_assert_max_num_queries(12):
        take_in(arrivals, using="default")


@pytest.mark.parametrize("decide", ["requeue", "discard", ""])
def test_what_is_taken_in_again_after_a_lost_answer_is_no_second_death(decide: str) -> None:
    letter = receive(copy(), copy(NOW))
    if decide == "requeue":
        dead_letters.requeue([letter.pk], operator=OLGA)
    elif decide == "discard":
        dead_letters.discard([letter.pk], operator=OLGA, reason="no")
    letter.refresh_from_db()
    before = numbers(letter)

    take_in([copy(), copy(NOW)], using="default", again=True)

    letter.refresh_from_db()
    assert numbers(letter) == before


def test_taking_in_again_what_was_not_kept_counts_every_copy() -> None:
    take_in([copy(), copy()], using="default", again=True)

    assert numbers(DeadLetter.objects.get()) == ("open", 1, 2, 1)


def test_a_copy_of_a_correction_whose_letter_is_cleaned_up_meanwhile_is_a_letter_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = died(b"no event", reason="MalformedEvent")
    correct(broken.pk, EVENT.body, operator=OLGA)
    find = _Intake._find_corrections

    def find_and_prune(*arguments: Any) -> Any:
        found = find(*arguments)
        DeadLetter.objects.filter(pk=broken.pk).delete()
        return found

    monkeypatch.setattr(_Intake, "_find_corrections", find_and_prune)

    letter = receive(copy())

    assert (letter.pk != broken.pk, bytes(letter.body)) == (True, EVENT.body)
    assert numbers(letter) == ("open", 1, 1, 1)


def test_a_copy_whose_letter_is_cleaned_up_meanwhile_is_a_new_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = receive(copy(), copy(NOW))
    bulk_create, pruned = DeadLetterQuerySet.bulk_create, []

    def insert_and_prune(*arguments: Any, **options: Any) -> Any:
        made = bulk_create(*arguments, **options)
        if not pruned:
            pruned.append(DeadLetter.objects.filter(pk=old.pk).delete())
        return made

    monkeypatch.setattr(DeadLetterQuerySet, "bulk_create", insert_and_prune)

    letter = receive(copy(LATER))

    assert letter.pk != old.pk
    assert numbers(letter) == ("open", 1, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_a_copy_that_comes_while_its_body_becomes_a_correction_belongs_to_one_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    letter = died(b"no event", reason="MalformedEvent")
    kept, went_on = threading.Event(), threading.Event()

    def look_around(*_: Any, **__: Any) -> None:
        kept.set()
        went_on.wait(0.5)  # or as long as the other waits for us

    monkeypatch.setattr("messaging.letters.redrives.send", look_around)

    def collect() -> None:
        kept.wait(20)
        take_in([copy()], using="default")
        went_on.set()

    at_once(lambda: correct(letter.pk, EVENT.body, operator=OLGA), collect)

    assert DeadLetter.objects.get().pk == letter.pk
