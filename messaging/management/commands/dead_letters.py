"""`dead_letters`: the operators' console in the shell."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, Error

from messaging import outbox
from messaging.errors import TransientError
from messaging.event.json_strict import MAX_BODY_BYTES
from messaging.letters import dead_letters, documents
from messaging.letters.corrections import Problem, correct, problems
from messaging.letters.dead_letters import Answer
from messaging.letters.dry_run import dry_run
from messaging.letters.search import Selection
from messaging.management import letter_pages
from messaging.management.letter_deciding import Act, Deciding
from messaging.management.letter_options import (
    add_decision,
    add_filters,
    add_operator,
    letter_id,
    operator,
    selection,
)
from messaging.management.plain_failures import plain_failures
from messaging.management.tables import TableConsole
from messaging.models import DeadLetter, OperatorBatch, OperatorDecision
from messaging.operating.decision_log import Operator, entry
from messaging.running.exit_codes import DONE, FAILED, MISUSED
from messaging.storing.patient_transactions import in_one_transaction

SHOWN_LETTERS = 200
ROWS_AT_ONCE = 500


class Command(BaseCommand):
    help = "List, show, try, requeue, correct, discard and restore dead letters."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        listing = verbs.add_parser("list", help="which letters there are, the latest first")
        listing.add_argument("--json", action="store_true", help="one JSON array")
        add_filters(listing, state=None)
        for name, said in (
            ("show", "everything about one letter"),
            ("dry-run", "what sending it again would change, without changing it"),
        ):
            verb = verbs.add_parser(name, help=said)
            verb.add_argument("id", type=letter_id, metavar="ID")
            verb.add_argument("--json", action="store_true", help="one JSON object")
            add_operator(verb)
        requeue = verbs.add_parser("requeue", help="send letters to their consumer again")
        requeue.add_argument(
            "--force",
            action="store_true",
            help="also what got lost on its way; of all that match, what would die at once, too",
        )
        requeue.add_argument("--note", default="", help="why")
        add_decision(requeue, state=DeadLetter.State.OPEN)
        correcting = verbs.add_parser(
            "correct", help="send another body under the same eventId in a letter's place"
        )
        correcting.add_argument("id", type=letter_id, metavar="ID")
        correcting.add_argument("file", metavar="FILE", help="the whole body; - for standard input")
        correcting.add_argument("--note", default="", help="why")
        correcting.add_argument(
            "--json", action="store_true", help="one JSON array on standard output"
        )
        add_operator(correcting)
        discard = verbs.add_parser("discard", help="settle letters without sending them")
        discard.add_argument("--reason", dest="why", required=True, type=_some_text, help="why")
        discard.add_argument(
            "--superseded",
            action="store_true",
            help="all that match and that a newer revision, already applied, has overtaken",
        )
        add_decision(discard, state=DeadLetter.State.OPEN, reason_is_why=True)
        restore = verbs.add_parser("restore", help="open discarded letters again")
        restore.add_argument("--note", default="", help="why")
        add_decision(restore, state=DeadLetter.State.DISCARDED)

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        if options["json"] and hasattr(self.stdout, "reconfigure"):
            self.stdout.reconfigure(encoding="utf-8")
        with plain_failures():
            match verb:
                case "list":
                    self._list(selection(options), as_json=options["json"])
                case "show":
                    letter = self._letter(options["id"])
                    _write_down_look(letter, operator(options["operator"]), where="shell")
                    self._show(letter, as_json=options["json"])
                case "dry-run":
                    letter = self._letter(options["id"])
                    _write_down_look(letter, operator(options["operator"]), where="shell, dry run")
                    self._dry_run(letter, as_json=options["json"])
                case "correct":
                    self._correct(self._letter(options["id"]), options)
                case _:
                    self._decide(verb, options)

    def _list(self, wanted: Selection, *, as_json: bool) -> None:
        letters = wanted.letters(DeadLetter.objects.all()).without_payload()
        if not as_json:
            shown = list(letters[:SHOWN_LETTERS])
            if not shown:
                self.stdout.write("No letter matches.")
                return
            table = letter_pages.letters_table(shown)
            TableConsole(self.stdout).print(table)
            if len(letters[SHOWN_LETTERS : SHOWN_LETTERS + 1]):
                self.stderr.write(f"Only the latest {SHOWN_LETTERS} are shown: filter, or --json.")
            return
        separator = "["
        for letter in letters.iterator(chunk_size=ROWS_AT_ONCE):
            self.stdout.write(separator + json.dumps(documents.summary(letter)), ending="")
            separator = ",\n"
            if not self.stdout.writable():
                return  # The reader has gone away.
        self.stdout.write("[]" if separator == "[" else "]")

    def _show(self, letter: DeadLetter, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(documents.whole(letter)))
            return
        for line in letter_pages.letter_page(letter):
            self.stdout.write(line)

    def _dry_run(self, letter: DeadLetter, *, as_json: bool) -> None:
        tried = dry_run(letter)
        if as_json:
            self.stdout.write(json.dumps(letter_pages.dry_run_document(letter.pk, tried)))
        else:
            for line in letter_pages.dry_run_page(letter, tried):
                self.stdout.write(line)
        if tried.outcome is None:
            sys.exit(FAILED)

    def _correct(self, letter: DeadLetter, options: dict[str, Any]) -> None:
        body = _read(options["file"])

        def act(
            ids: Sequence[int], *, operator: Operator, batch: OperatorBatch | None
        ) -> list[Answer]:
            faults = problems(letter, body) if letter.state == DeadLetter.State.OPEN else []
            if faults:
                said = "; ".join(_in_line(each) for each in faults)
                return [Answer(letter.pk, done=False, said=said)]
            return [correct(letter.pk, body, operator=operator, note=options["note"])]

        by, note, quiet = operator(options["operator"]), options["note"], options["json"]
        deciding = Deciding(self, "correct", act, by=by, note=note, quiet=quiet)
        code = deciding.over_each([letter.pk])
        if quiet:
            deciding.write_json()
        if code != DONE:
            sys.exit(code)

    def _letter(self, letter_id: int) -> DeadLetter:
        letter = DeadLetter.objects.filter(pk=letter_id).first()
        if letter is None:
            raise CommandError(f"There is no letter {letter_id}.", returncode=FAILED)
        return letter

    def _decide(self, verb: str, options: dict[str, Any]) -> None:
        act: Act
        match verb:
            case "requeue":
                act = partial(
                    dead_letters.requeue,
                    note=options["note"],
                    force=options["force"],
                    even_in_vain=bool(options["ids"]),  # whoever names a letter means it
                    bulk=len(options["ids"]) > outbox.MOST_AT_ONCE,
                )
                note = options["note"]
            case "discard":
                act = partial(dead_letters.discard, reason=options["why"])
                note = options["why"]
            case _:
                act = partial(dead_letters.restore, note=options["note"])
                note = options["note"]
        only_superseded = options.get("superseded", False)
        over_all = options["all_matching"] or only_superseded
        if bool(options["ids"]) == over_all:
            raise CommandError("give letters by ID, or --all-matching", returncode=MISUSED)
        by, quiet = operator(options["operator"]), options["json"]
        deciding = Deciding(self, verb, act, by=by, note=note, quiet=quiet)
        try:
            if over_all:
                code = deciding.over_all(
                    selection(options),
                    only_superseded=only_superseded,
                    force=options.get("force", False),
                    confirmed=options["yes"],
                )
            else:
                code = deciding.over_each(options["ids"])
        except (Error, TransientError):
            if options["json"]:
                deciding.write_json()
            raise
        if options["json"]:
            deciding.write_json()
        if code != DONE:
            sys.exit(code)


def _some_text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must say something")
    return text


def _write_down_look(letter: DeadLetter, by: Operator, *, where: str) -> None:
    """Before the body is shown: unseen rather than unlogged. Raises as `in_one_transaction`."""
    line = entry(OperatorDecision.Action.VIEW_PAYLOAD, by, letter=letter, detail={"where": where})
    in_one_transaction(line.save, using=DEFAULT_DB_ALIAS)


def _read(name: str) -> bytes:
    """No more than tells that it is too large."""
    most = MAX_BODY_BYTES + 1
    if name == "-":
        return sys.stdin.buffer.read(most)
    try:
        with Path(name).open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=MISUSED) from error


def _in_line(problem: Problem) -> str:
    return problem.said if problem.line is None else f"line {problem.line}: {problem.said}"
