"""`dead_letters`: the console in the shell, its JSON and its exit codes."""

import base64
import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from jsonschema import Draft202012Validator
from pytest_django import Settings

from messaging import registry
from messaging.errors import TransientError
from messaging.handling import inbox
from messaging.letters import dead_letters
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision, OutboxMessage
from messaging.operating.decision_log import Operator
from tests.messaging import event_bodies
from tests.messaging.dead import died
from tests.messaging.event_bodies import as_bytes
from tests.messaging.facts import published

pytestmark = pytest.mark.django_db

SUMMARY: dict[str, Any] = {
    "id": {"type": ["integer", "string"]},
    "consumer": {"type": "string"},
    "eventId": {"type": ["string", "null"]},
    "materialId": {"type": ["string", "null"]},
    "revision": {"type": ["integer", "null"]},
    "reason": {"type": "string"},
    "attempt": {"type": ["integer", "null"]},
    "state": {"enum": ["open", "requeued", "resolved", "discarded"]},
    "diedAt": {"type": "string", "format": "date-time", "pattern": "Z$"},
}
TEXT = {"type": "string"}
LINE = {
    "at": {"type": "string", "pattern": "Z$"},
    "operator": TEXT,
    "action": TEXT,
    "note": TEXT,
}
WHOLE = SUMMARY | {
    "bodyBase64": {"type": "string"},
    "headers": {"type": "object"},
    "properties": {"type": "object"},
    "error": {"type": "string"},
    "history": {"type": "array", "items": {**LINE, "type": "object"}},
}


def exactly(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class Said:
    """One run of the command: exit code, standard output, standard error."""

    def __init__(self, *arguments: object) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code = 0
        try:
            call_command("dead_letters", *map(str, arguments), stdout=out, stderr=err)
        except CommandError as error:
            self.code = error.returncode
            err.write(str(error))
        except SystemExit as error:
            self.code = int(error.code or 0)
        self.out, self.err = out.getvalue(), err.getvalue()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def listed(*arguments: object) -> list[int]:
    return [entry["id"] for entry in Said("list", "--json", *arguments).json]


def test_the_list_is_what_the_contract_names() -> None:
    event = published("article-107", 3)
    letter = died(event, at=datetime(2026, 1, 2, 12, 0, 5, tzinfo=UTC))
    died(b"\xff", reason=None, attempt=None)

    found = Said("list", "--json").json

    jsonschema.validate(found, {"type": "array", "items": exactly(SUMMARY)})
    assert found[-1] == {
        "id": letter.pk,
        "consumer": "catalog",
        "eventId": event.event_id,
        "materialId": "article-107",
        "revision": 3,
        "reason": "SimulatedTransientError",
        "attempt": 3,
        "state": "open",
        "diedAt": "2026-01-02T12:00:05Z",
    }
    nothing = found[0]
    assert [nothing[name] for name in ("eventId", "materialId", "revision", "attempt")] == [
        None
    ] * 4
    assert nothing["reason"] == "unknown"


def test_no_letters_are_an_empty_array() -> None:
    assert Said("list", "--json").json == []
    said = Said("list")
    assert (said.code, said.out) == (0, "No letter matches.\n")


def test_where_nothing_matches_nobody_is_asked_and_nothing_is_written_down() -> None:
    died(published(), consumer="audit")

    said = Said("requeue", "--all-matching", "--consumer", "catalog")

    assert (said.code, said.out) == (0, "No letter matches: there is nothing to do.\n")
    assert Said("discard", "--superseded", "--reason", "old", "--json").json == []
    assert not OperatorBatch.objects.exists()


def test_attempts_are_counted_as_on_the_pages_and_a_simulation_is_told(settings: Settings) -> None:
    letter = died(published("article-107"), attempt=3)

    assert "  attempts    4\n" in Said("show", letter.pk).out
    assert "by SIMULATE_TEMPORARY in the consumer" in Said("show", letter.pk).out
    settings.SIMULATE_TEMPORARY = frozenset({"article-107"})
    assert "names this material here" in Said("dry-run", letter.pk).out


def test_one_letter_is_shown_as_the_contract_names() -> None:
    body = b'{"title": "\xff<script>"}'
    letter = died(body, reason="MalformedEvent", attempt=0, headers={"odd": b"\0"})
    dead_letters.discard([letter.pk], operator=Operator("olga"), reason="no use")

    found = Said("show", letter.pk, "--json").json

    schema = exactly(WHOLE)
    jsonschema.validate(found, schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert base64.b64decode(found["bodyBase64"]) == body
    assert found["headers"]["odd"] == {"base64": "AA=="}
    assert found["properties"]["timestamp"] == int(letter.died_at.timestamp())
    assert found["error"].startswith("not UTF-8")
    (line,) = found["history"]
    assert (line["operator"], line["action"], line["note"]) == ("olga", "discard", "no use")


def test_the_page_of_a_letter_holds_nothing_that_a_terminal_would_obey() -> None:
    letter = died(b"\x1b]0;owned\x07\n\xe2\x80\xae\xff[/bold] :smile:", reason="\x1b[31mX[/red]")

    page, table = Said("show", letter.pk), Said("list")

    assert page.code == table.code == 0
    for text in (page.out, table.out):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    assert r"\x1b]0;owned\x07" in page.out
    assert "[/bold] :smile:" in page.out
    assert "[31mX[/red]" in table.out


def test_the_list_filters() -> None:
    now = datetime.now(UTC)
    old = died(published("article-1", 1), at=now - timedelta(days=3))
    new = died(published("article-2", 7), consumer="audit", reason="X", at=now)
    bad = died(b'{"title": "Needle"}', reason="MalformedEvent", at=now - timedelta(hours=1))
    dead_letters.discard([old.pk], operator=Operator("olga"), reason="no")

    assert listed() == [new.pk, bad.pk, old.pk]
    assert listed("--state", "open") == [new.pk, bad.pk]
    assert listed("--state", "discarded") == [old.pk]
    assert listed("--consumer", "audit") == [new.pk]
    assert listed("--reason", "MalformedEvent") == [bad.pk]
    assert listed("--failure", "X") == [new.pk]
    assert listed("--type", "material.published") == [new.pk, old.pk]
    assert listed("--material", "article-2") == [new.pk]
    assert listed("--event", str(new.event_id).upper()) == [new.pk]
    assert listed("--event", "no id") == []
    assert listed("--since", (now - timedelta(days=1)).isoformat()) == [new.pk, bad.pk]
    assert listed("--until", (now - timedelta(days=1)).isoformat()) == [old.pk]
    assert listed("--search", "needle") == [bad.pk]
    assert listed("--search", "missing") == [bad.pk], "the text of the error"
    assert listed("--search", "a\0b") == listed("--failure", "\udcff") == []
    assert listed("--search", "100%_") == []
    table = Said("list")
    assert "article-2" in table.out
    assert "article-1" not in table.out, "the table shows what is open"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["mend"],
        ["show"],
        ["show", "0"],
        ["show", "x"],
        ["show", str(2**63)],
        ["show", "0" * 19 + "1" + "9" * 30],
        ["requeue", "9" * 5000],
        ["requeue"],
        ["requeue", "1", "--all-matching"],
        ["discard", "1"],
        ["discard", "1", "--reason", "  "],
        ["discard", "1", "--superseded", "--reason", "x"],
        ["list", "--state", "lost"],
        ["list", "--consumer", "museum"],
        ["list", "--since", "yesterday"],
        ["list", "--since", "2026-02-31"],
        ["list", "--since", "0001-01-01T00:00:00+14:00"],
        ["list", "--until", "9999-12-31T23:59:59-14:00"],
    ],
)
def test_wrong_use_is_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(*arguments).code in (1, 2)  # call_command raises what the shell ends with
    from messaging.management.commands.dead_letters import Command

    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "dead_letters", *arguments])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err) < 2000


def test_letters_are_requeued_by_number_and_a_refused_one_is_exit_1() -> None:
    good, gone = died(published()), died(published())
    Said("discard", gone.pk, "--reason", "no")

    said = Said("requeue", gone.pk, good.pk, 10**9, "--note", "disk is back", "--operator", "olga")

    assert said.code == 1
    assert said.out == f"{good.pk}: Requeued.\n"
    assert f"{gone.pk}: " in said.err
    assert f"{10**9}: There is no such letter." in said.err
    line = OperatorDecision.objects.get(action="requeue")
    assert (line.letter_id, line.operator, line.note) == (good.pk, "olga", "disk is back")


def test_a_letter_that_would_die_again_goes_where_its_number_is_given_byte_for_byte() -> None:
    unreadable = died(b"\xff\x00")

    among_all = Said("requeue", "--all-matching", "--yes")
    by_number = Said("requeue", unreadable.pk)

    assert among_all.code == 1
    assert f"{unreadable.pk}: The body cannot be read" in among_all.err
    assert by_number.code == 0
    assert by_number.out.startswith(f"{unreadable.pk}: Requeued. The body cannot be read")
    assert bytes(OutboxMessage.objects.get().body) == b"\xff\x00"


def test_whoever_decides_is_named_and_linked_to_the_account() -> None:
    account = get_user_model().objects.create_user("olga")
    letter = died(published())

    Said("discard", letter.pk, "--reason", "no", "--operator", "olga")
    Said("restore", letter.pk)

    lines = OperatorDecision.objects.order_by("pk")
    assert [line.user_id for line in lines] == [account.pk, None]
    assert lines[1].operator.endswith("(shell)")


def test_a_note_that_no_database_stores_stands_as_its_escape() -> None:
    letter = died(published())

    Said("discard", letter.pk, "--reason", "a\0b\udcff", "--operator", "o\0" + "x" * 200)

    line = OperatorDecision.objects.get()
    assert (line.note, line.operator[:6]) == (r"a\x00b\udcff", r"o\x00x")


def test_decisions_as_json() -> None:
    good, gone = died(published()), died(published())
    Said("discard", gone.pk, "--reason", "no")

    said = Said("requeue", good.pk, gone.pk, "--json")

    assert said.code == 1
    assert [(row["id"], row["done"]) for row in said.json] == [(good.pk, True), (gone.pk, False)]


def test_all_that_match_are_settled_as_one_batch() -> None:
    letters = [died(published(f"article-{number}")) for number in range(5)]
    other = died(published(), reason="Other")

    said = Said(
        "discard", "--all-matching", "--yes", "--reason", "test", "--failure", letters[0].reason
    )

    assert (said.code, said.out) == (0, "5 done, 0 refused.\n")
    assert DeadLetter.objects.open().get() == other
    batch = OperatorBatch.objects.get()
    assert (batch.action, batch.matched, batch.done, batch.refused) == ("discard", 5, 5, 0)
    assert batch.filters["reason"] == letters[0].reason
    assert batch.finished_at is not None
    assert batch.decisions.filter(letter=None).get().action == "begin_batch"
    assert batch.decisions.exclude(letter=None).count() == 5
    restored = Said("restore", "--all-matching", "--yes")
    assert restored.out == "5 done, 0 refused.\n"


def test_a_batch_that_breaks_off_tells_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("messaging.letters.pieces.PIECE_LETTERS", 2)
    first, _second, _third = (died(published(f"article-{number}")) for number in range(3))
    discard, calls = dead_letters.discard, []

    def busy_later(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise TransientError("The database is busy.")
        return discard(*arguments, **options)

    monkeypatch.setattr(dead_letters, "discard", busy_later)

    said = Said("discard", "--all-matching", "--yes", "--reason", "no", "--json")

    assert (said.code, said.err) == (1, "The database is busy.")
    assert [(row["id"], row["done"]) for row in said.json][:1] == [(first.pk, True)]
    assert len(said.json) == 2
    batch = OperatorBatch.objects.get()
    assert (batch.matched, batch.done, batch.ended_because) == (3, 2, "The database is busy.")
    assert batch.finished_at is not None


def test_a_batch_that_ends_by_an_error_of_any_kind_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    died(published())

    def fail(*arguments: Any, **options: Any) -> Any:
        raise KeyError

    monkeypatch.setattr(dead_letters, "discard", fail)
    with pytest.raises(KeyError):
        Said("discard", "--all-matching", "--yes", "--reason", "no")

    batch = OperatorBatch.objects.get()
    assert (batch.ended_because, batch.done) == ("ended by an error", 0)


def test_a_list_that_nobody_reads_any_longer_ends_early() -> None:
    for number in range(5):
        died(published(f"article-{number}"))

    class Impatient(io.StringIO):
        def writable(self) -> bool:
            return self.getvalue().count("\n") < 2

    out = Impatient()
    call_command("dead_letters", "list", "--json", stdout=out)

    assert out.getvalue().count("article-") == 3


def test_what_was_not_there_when_it_was_asked_is_not_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = died(published("article-1"))
    later: list[DeadLetter] = []

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def readline(self, *_: Any) -> str:
            later.append(died(published("article-2")))
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Terminal())

    said = Said("discard", "--all-matching", "--reason", "no")

    assert "Discard 1 letter?" in said.err
    assert said.out == "1 done, 0 refused.\n"
    asked.refresh_from_db()
    assert (asked.state, DeadLetter.objects.open().get()) == ("discarded", later[0])


def test_all_superseded_are_discarded_at_once() -> None:
    overtaken, newest = died(published("article-1", 1)), died(published("article-1", 3))
    inbox.handle(registry.consumer("catalog"), [published("article-1", 2)])

    said = Said("discard", "--superseded", "--yes", "--reason", "overtaken")

    assert (said.code, said.out) == (0, "1 done, 0 refused.\n")
    assert DeadLetter.objects.open().get() == newest
    assert DeadLetter.objects.get(state="discarded") == overtaken
    assert OperatorBatch.objects.get().filters["superseded"] == "yes"


def test_all_that_match_need_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    died(published())

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    without_terminal = Said("requeue", "--all-matching")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    declined = Said("requeue", "--all-matching")
    assert not OutboxMessage.objects.exists()
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    confirmed = Said("requeue", "--all-matching")

    assert without_terminal.code == 2
    assert "--yes" in without_terminal.err
    assert declined.code == 1
    assert "Requeue 1 letter?" in declined.err
    assert confirmed.code == 0
    assert OutboxMessage.objects.count() == 1


def test_what_a_letter_would_change_is_told_without_changing_it() -> None:
    letter, bad = died(published(title="New")), died(b"\xff")

    tried, failed = Said("dry-run", letter.pk, "--json"), Said("dry-run", bad.pk)

    assert (tried.code, tried.json["outcome"]) == (0, "applied")
    assert tried.json["changes"]["title"] == {"before": None, "after": "New"}
    assert failed.code == 1
    assert "would fail. MalformedEvent: not UTF-8" in failed.out
    assert "would be applied" in Said("dry-run", letter.pk).out
    assert {line.action for line in OperatorDecision.objects.all()} == {"view_payload"}


def test_every_look_at_a_body_is_in_the_log_and_no_part_of_the_history() -> None:
    account = get_user_model().objects.create_user("olga")
    letter = died(published())

    Said("show", letter.pk, "--operator", "olga")
    Said("dry-run", letter.pk, "--json")
    shown = Said("show", letter.pk, "--json").json
    page = Said("show", letter.pk)

    lines = OperatorDecision.objects.order_by("pk")
    assert [line.action for line in lines] == ["view_payload"] * 4
    assert [line.detail["where"] for line in lines][:2] == ["shell", "shell, dry run"]
    assert (lines[0].operator, lines[0].user_id, lines[0].letter) == ("olga", account.pk, letter)
    assert lines[1].operator.endswith("(shell)")
    assert shown["history"] == []
    assert "view_payload" not in page.out


def test_a_body_whose_look_cannot_be_written_down_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OperationalError("disk full")

    letter = died(published(title="Secret"))
    monkeypatch.setattr(OperatorDecision, "save", full)

    for arguments in (["show"], ["show", "--json"], ["dry-run", "--json"]):
        said = Said(arguments[0], letter.pk, *arguments[1:])
        assert (said.code, said.out) == (1, "")


def test_a_letter_is_corrected_by_a_file_or_by_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = as_bytes(event_bodies.published())
    letter = died(good.replace(b'"revision": 3', b'"revision": "3"'), reason="MalformedEvent")
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(good.replace(b'"revision": 3', b'\n"revision": -3'))
    too_large = tmp_path / "too_large.json"
    too_large.write_bytes(b" " * 300_000)

    refused = Said("correct", letter.pk, wrong)
    told = Said("correct", letter.pk, too_large, "--json")
    missing = Said("correct", letter.pk, tmp_path / "nothing.json")
    assert OperatorDecision.objects.count() == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(good)))
    done = Said("correct", letter.pk, "-", "--note", "a number", "--operator", "olga")

    assert (refused.code, told.code, missing.code) == (1, 1, 2)
    assert refused.err.startswith(f"{letter.pk}: line 2: ")
    assert "at most 262144" in told.json[0]["said"]
    assert "No such file" in missing.err
    assert (done.code, done.out) == (0, f"{letter.pk}: Corrected and requeued.\n")
    line = OperatorDecision.objects.get()
    assert (line.action, line.operator, line.note) == ("correct", "olga", "a number")
    assert bytes(OutboxMessage.objects.get().body) == good
    again = Said("correct", letter.pk, wrong)
    assert "already requeued by olga" in again.err
    assert Said("correct", 10**9, wrong).code == 1


def test_an_unknown_letter_is_exit_1() -> None:
    said = Said("show", 10**9)

    assert (said.code, said.err) == (1, f"There is no letter {10**9}.")
    assert Said("dry-run", 10**9).code == 1


def test_a_database_that_is_away_is_one_line_and_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection refused for postgres://u:SECRETPW@h/")

    monkeypatch.setattr(connection, "cursor", away)

    said = Said("list")

    assert said.code == 1
    assert said.err.startswith("the database cannot be used now: ")
    assert "SECRETPW" not in said.err
