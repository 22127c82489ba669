"""Correct and requeue: another body under the same event id, the letter's own kept."""

import pytest

from messaging.letters import dead_letters
from messaging.letters.corrections import correct, difference, problems
from messaging.models import Correction, DeadLetter, OutboxMessage
from messaging.operating.decision_log import Operator
from tests.messaging.dead import died
from tests.messaging.event_bodies import EVENT_ID, as_bytes, published, with_data

pytestmark = pytest.mark.django_db

OLGA = Operator("olga")
GOOD = as_bytes(published())
BROKEN = as_bytes(published(revision="3"))
ANOTHER_ID = "0190a6f0-0000-7000-8000-0000000000ff"


def a_broken_letter() -> DeadLetter:
    return died(BROKEN, reason="MalformedEvent", attempt=0)


def test_a_corrected_letter_is_requeued_with_the_new_body_and_keeps_its_own() -> None:
    letter = a_broken_letter()

    answer = correct(letter.pk, GOOD, operator=OLGA, note="a number, not text")

    assert (answer.done, answer.said) == (True, "Corrected and requeued.")
    letter.refresh_from_db()
    assert letter.state == "requeued"
    assert bytes(letter.body) == BROKEN
    row = OutboxMessage.objects.get()
    assert (bytes(row.body), str(row.event_id), row.consumer) == (GOOD, EVENT_ID, "catalog")
    line = letter.decisions.get()
    assert (line.action, line.operator, line.note) == ("correct", "olga", "a number, not text")
    assert '-  "revision": "3"' in line.detail["diff"]
    assert '+  "revision": 3' in line.detail["diff"]


def test_a_corrected_copy_that_dies_belongs_to_its_letter_and_is_sent_by_a_requeue() -> None:
    letter = a_broken_letter()
    correct(letter.pk, GOOD, operator=OLGA)

    again = DeadLetter.objects.get(pk=letter.pk)
    with pytest.raises(DeadLetter.DoesNotExist):
        died(GOOD, reason="TransientError", attempt=3)  # not a record of its own
    again.refresh_from_db()

    assert DeadLetter.objects.count() == 1
    assert (again.state, again.deaths, again.reason) == ("open", 2, "TransientError")
    assert dead_letters.requeue([letter.pk], operator=OLGA)[0].done
    assert bytes(OutboxMessage.objects.get().body) == GOOD


def test_every_correction_stays_known() -> None:
    letter = a_broken_letter()
    first, second = as_bytes(with_data(title="First")), as_bytes(with_data(title="Second"))
    correct(letter.pk, first, operator=OLGA)
    with pytest.raises(DeadLetter.DoesNotExist):
        died(first, reason="X")
    correct(letter.pk, second, operator=OLGA)

    with pytest.raises(DeadLetter.DoesNotExist):
        died(first, reason="Y")  # a late copy of the first

    letter.refresh_from_db()
    assert DeadLetter.objects.count() == 1
    assert (letter.state, letter.correction and bytes(letter.correction.body)) == ("open", first)


def test_a_correction_may_be_taken_back_to_the_letters_own_body() -> None:
    letter = died(GOOD, reason="TransientError")
    correct(letter.pk, as_bytes(with_data(title="Other")), operator=OLGA)
    DeadLetter.objects.filter(pk=letter.pk).update(state="open")

    answer = correct(letter.pk, GOOD, operator=OLGA)

    letter.refresh_from_db()
    assert answer.done
    assert letter.correction is None
    assert bytes(OutboxMessage.objects.get().body) == GOOD
    assert Correction.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        (b'{\n  "eventId": 5,,\n}', 2, "not JSON"),
        (b'{\n"a": "\xff"}', 2, "not UTF-8"),
        (as_bytes(published(revision="3")).replace(b", ", b",\n"), 6, "`revision`"),
        (as_bytes(with_data(title="")).replace(b", ", b",\n"), 8, "`data.title`"),
        (as_bytes(published(eventId=ANOTHER_ID)).replace(b", ", b",\n"), 1, "must stay"),
        (b"", 1, "not JSON"),
        (b"[]", None, "a JSON object is expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(body: bytes, line: int | None, said: str) -> None:
    letter = a_broken_letter()

    (problem,) = problems(letter, body)
    answer = correct(letter.pk, body, operator=OLGA)

    assert problem.line == line
    assert said in problem.said
    assert not answer.done
    assert said in answer.said
    letter.refresh_from_db()
    assert (letter.state, letter.decisions.count(), OutboxMessage.objects.count()) == ("open", 0, 0)


def test_a_letter_without_an_id_may_get_any() -> None:
    letter = died(b"not json", reason="MalformedEvent")

    assert correct(letter.pk, GOOD, operator=OLGA).done


def test_the_body_of_another_letter_is_refused() -> None:
    other = died(GOOD)
    letter = a_broken_letter()
    twin = died(BROKEN + b" ", reason="MalformedEvent")
    corrected = as_bytes(with_data(title="Other"))
    correct(twin.pk, corrected, operator=OLGA)

    answers = [correct(letter.pk, body, operator=OLGA) for body in (GOOD, corrected)]

    assert [answer.done for answer in answers] == [False, False]
    assert answers[0].said == f"This is the body of letter {other.pk}: requeue that one."
    assert answers[1].said == f"This is the body of letter {twin.pk}: requeue that one."


def test_only_an_open_letter_can_be_corrected() -> None:
    letter = a_broken_letter()
    dead_letters.discard([letter.pk], operator=Operator("boris"), reason="no")

    answer = correct(letter.pk, GOOD, operator=OLGA)

    assert "discarded by boris" in answer.said
    assert correct(10**9, GOOD, operator=OLGA).said == "There is no such letter."


def test_a_correction_that_changes_nothing_about_a_conflict_is_for_the_operator_to_judge() -> None:
    letter = died(GOOD, reason="FactConflict", attempt=0)

    corrected = correct(letter.pk, as_bytes(published(revision=4)), operator=OLGA)

    assert corrected.done


@pytest.mark.parametrize("body", [b"\xff\0" * 10, b"[" * 300_000, b"\n" * 300_000, b"x\ry\x1b[0m"])
def test_any_two_bodies_have_a_difference_that_can_be_stored(body: bytes) -> None:
    letter = died(body, reason="MalformedEvent")

    assert correct(letter.pk, GOOD, operator=OLGA).done

    diff = letter.decisions.get().detail["diff"]
    assert diff == difference(body, GOOD)
    assert "\0" not in diff
    assert len(diff) <= 64 * 1024
