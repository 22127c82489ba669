"""Letters by what made them: the place in our own code, the groups, and the table of the status."""

import io
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection

from messaging.letters import failure_groups
from messaging.letters.explanations import own_frame
from messaging.letters.failure_groups import MOST_ADDED_UP, FailureGroup, open_groups
from messaging.models import DeadLetter, FailedAttempt
from messaging.operating.status import DeliveryStatus, OutboxState
from messaging.running.error_texts import traceback_text
from messaging.running.inert_text import inert, inert_block
from tests.messaging.dead import died
from tests.messaging.facts import published

FIRST = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LAST = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def failing() -> None:
    import json

    json.loads("{")  # the innermost frame is the library's


def test_the_place_is_the_innermost_frame_of_our_own() -> None:
    try:
        failing()
    except ValueError as error:
        text = traceback_text(error)

    assert "json/decoder.py" in text
    assert own_frame(text) == "tests/messaging/letters/test_failure_groups.py, failing"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no traceback",
        '  File "/usr/lib/python3/json.py", line 1, in loads',
        f'  File "{settings.BASE_DIR}/.venv/lib/site-packages/x.py", line 1, in x',
        '  File "relative.py", line 1, in x',
    ],
)
def test_a_traceback_without_a_frame_of_our_own_has_no_place(text: str) -> None:
    assert own_frame(text) == ""


@pytest.mark.django_db
def test_a_letter_gets_the_words_and_the_place_of_its_own_failure_alone() -> None:
    event, other = published("article-1"), published("article-2")
    for fact, error_class in ((event, "ValueError"), (other, "AnotherError")):
        FailedAttempt.objects.create(
            consumer="catalog",
            event_id=fact.event_id,
            material_id=fact.material_id,
            revision=1,
            type=fact.type,
            attempt=3,
            transient=True,
            error_class=error_class,
            error_text="words",
            traceback=f'  File "{settings.BASE_DIR}/materials/x.py", line 3, in apply',
        )

    letters = [died(event, reason="ValueError"), died(other, reason="ValueError")]

    assert (letters[0].error, letters[0].place) == ("words", "materials/x.py, apply")
    assert (letters[1].error, letters[1].place) == ("", "")


@pytest.mark.django_db
def test_open_letters_are_grouped_by_failure_the_largest_first() -> None:
    for number, at in enumerate((FIRST, LAST)):
        died(published(f"article-{number}"), reason="Busy", at=at)
    died(published(), consumer="audit", reason="Busy")
    DeadLetter.objects.filter(pk=died(published("article-9")).pk).update(state="resolved")

    groups = failure_groups.failure_groups(state="open")

    assert groups[0] == FailureGroup("catalog", "Busy", "", 2, FIRST, LAST)
    assert [(group.consumer, group.letters) for group in groups] == [("catalog", 2), ("audit", 1)]


@pytest.mark.django_db
def test_letters_of_every_state_are_one_group() -> None:
    for number, (at, state) in enumerate(((LAST, "open"), (FIRST, "resolved"), (LAST, "open"))):
        letter = died(published(f"article-{number}"), reason="Busy", at=at)
        DeadLetter.objects.filter(pk=letter.pk).update(state=state)
    died(published("article-9"), reason="Other", at=FIRST)

    groups = failure_groups.failure_groups(most=1)

    assert groups == [FailureGroup("catalog", "Busy", "", 3, FIRST, LAST)]


@pytest.mark.django_db
def test_groups_are_those_of_a_plain_look_at_all_letters(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    chance = random.Random(random.random())  # pytest-randomly tells its seed
    letters = []
    for number in range(60):
        first = FIRST + timedelta(hours=chance.randrange(1000))
        letters.append(
            DeadLetter(
                consumer=chance.choice(("audit", "catalog")),
                state=chance.choice(DeadLetter.State.values),
                reason=chance.choice(("Busy", "busy", "Bu sy", "Ж")),
                place=chance.choice(("", "a.py, one", "a.py, One")),
                first_died_at=first,
                died_at=first + timedelta(hours=chance.choice((0, 0, 1, 500))),
                body=b"",
                body_sha256=number.to_bytes(32, "big"),
                body_size=0,
                header_table=b"",
            )
        )
    DeadLetter.objects.bulk_create(letters)

    for state in ("", *DeadLetter.State.values):
        plain: dict[tuple[str, str, str], list[DeadLetter]] = defaultdict(list)
        for letter in letters:
            if state in ("", letter.state):
                plain[letter.consumer, letter.reason, letter.place].append(letter)
        expected = [
            FailureGroup(
                *key,
                len(alike),
                min(letter.first_died_at for letter in alike),
                max(letter.died_at for letter in alike),
            )
            for key, alike in sorted(plain.items(), key=lambda item: (-len(item[1]), item[0]))
        ]

        with django_assert_num_queries(2):
            assert failure_groups.failure_groups(state=state, most=100) == expected
        with monkeypatch.context() as patched:
            patched.setattr(failure_groups, "_members", too_many)
            assert failure_groups.failure_groups(state=state, most=100) == expected


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="how SQLite compares rows of columns")
@pytest.mark.parametrize(
    ("state", "step"),
    [("", "((state,consumer,reason,place)>"), ("open", "(state=? AND (consumer,reason,place)>")],
)
def test_sqlite_finds_the_next_group_without_walking_through_the_last(
    state: str, step: str
) -> None:
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        asked.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        failure_groups.failure_groups(state=state)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {asked[0][0]}", asked[0][1])
        plan = [row[3] for row in cursor.fetchall()]

    assert any(step in line for line in plan), plan


def too_many(_state: str, *, most: int) -> dict[tuple[str, ...], int]:
    assert most > MOST_ADDED_UP
    return {(str(number),): number for number in range(most)}


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "expected"), [("open", 4), ("", 5)])
def test_a_letter_that_is_decided_during_the_look_takes_no_other_out_of_its_group(
    monkeypatch: pytest.MonkeyPatch, state: str, expected: int
) -> None:
    for number in range(5):
        died(published(f"article-{number}"), reason="Busy")
    members, decided = failure_groups._members, []

    def then_decide(*arguments: Any, **options: Any) -> Any:
        found = members(*arguments, **options)
        if not decided:
            decided.extend(found.values())
            DeadLetter.objects.filter(pk__in=decided).update(state="discarded")
        return found

    monkeypatch.setattr(failure_groups, "_members", then_decide)
    groups = failure_groups.failure_groups(state=state)

    assert [group.letters for group in groups] == [expected]


def test_groups_are_none_where_the_database_is_away() -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError

    with patch.object(failure_groups, "failure_groups", away):
        assert open_groups() == []


def test_the_status_shows_the_groups_and_no_markup_of_theirs() -> None:
    status = DeliveryStatus(
        outbox=OutboxState(),
        broker_reachable=True,
        queues={},
        consumers={},
        dead_letters_open=7,
        problems=[],
    )
    group = FailureGroup("catalog", "[red]\x1bOdd[/]", "materials/x.py, apply", 7, FIRST, LAST)
    module = "messaging.management.commands.delivery_status"
    out = io.StringIO()

    with (
        patch(f"{module}.read_status", lambda: status),
        patch(f"{module}.open_groups", lambda: [group]),
    ):
        call_command("delivery_status", stdout=out)

    line = next(line for line in out.getvalue().splitlines() if "materials/x.py" in line)
    assert r"[red]\x1bOdd[/]" in line
    assert "2026-01-02 03:04:05" in line


def test_foreign_text_is_made_inert() -> None:
    assert inert("a\r\n\x1b[2J\u202e\ud800\0é") == r"a\r\n\x1b[2J\u202e\ud800\x00é"
    assert inert_block(b"a\n\xff\x07", limit_bytes=10) == "a\n\\xff\\x07"
    assert inert_block(b"x" * 12, limit_bytes=10) == "xxxxxxxxxx\n… and 2 bytes more"


@pytest.mark.django_db
def test_what_could_not_be_read_is_grouped_by_what_was_wrong_with_it() -> None:
    for body in (b"[1,", b'{"type": [1,2,', b"\xff", b"ab\xff"):
        died(body, reason="MalformedEvent", attempt=0)
    for number in range(2):
        body = f'{{"type":"strange.{number}","schemaVersion":{number}}}'.encode()
        died(body, reason="UnsupportedEvent", attempt=0)
    died(b"{}" * 200_000, reason="MalformedEvent", attempt=0)

    groups = failure_groups.failure_groups(state="open")

    assert {group.place: group.letters for group in groups} == {
        "not JSON: Expecting value at character …": 2,
        "not UTF-8 at byte …": 2,
        "no event type … with schemaVersion … is known here": 2,
        "… bytes; at most 262144 are allowed": 1,
    }
