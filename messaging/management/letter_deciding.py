"""One decision of the command line over few letters or many, in transactions of bounded size."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, Error
from django.db.models.functions import Now

from messaging.errors import TransientError
from messaging.letters import batches
from messaging.letters.dead_letters import Answer
from messaging.letters.pieces import newest_letter, pieces, pieces_of
from messaging.letters.search import Selection
from messaging.models import OperatorBatch
from messaging.operating.decision_log import Operator
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import DONE, FAILED, MISUSED
from messaging.running.process import Lifetime

Act = Callable[..., list[Answer]]

_ABANDONED = "stopped on request, in the middle of a piece"
_BROKEN_OFF = "ended by an error"


class Deciding:
    """Reports each refusal on standard error; the exit code tells whether there was one."""

    def __init__(
        self, command: BaseCommand, verb: str, act: Act, *, by: Operator, note: str, quiet: bool
    ) -> None:
        self._command = command
        self._verb = verb
        self._act = act
        self._by = by
        self._note = note
        self._quiet = quiet  # the answers go to standard output as JSON instead
        self._answers: list[Answer] = []
        self._done = self._refused = 0
        self._was_stopped = False

    def over_each(self, ids: Sequence[int]) -> int:
        """Decide over these letters, a refusal of one not stopping the rest; the exit code."""
        return self._decide(pieces_of(ids, using=DEFAULT_DB_ALIAS), batch=None)

    def over_all(
        self, wanted: Selection, *, only_superseded: bool, force: bool, confirmed: bool
    ) -> int:
        """Decide over every letter that matches, as one batch; the exit code.

        Asks first, unless confirmed; letters that come after the question are left out. Raises
        CommandError where there is nobody to ask, and TransientError as the verbs do, with what
        was done until then reported and kept with the batch.
        """
        newest = newest_letter(using=DEFAULT_DB_ALIAS)
        letters = batches.matching(wanted, newest_id=newest, only_superseded=only_superseded)
        if not letters.exists():
            if not self._quiet:
                self._command.stdout.write("No letter matches: there is nothing to do.")
            return DONE
        if not confirmed and not self._is_confirmed(letters.count()):
            return FAILED
        batch = batches.begin(
            self._verb,
            wanted,
            operator=self._by,
            note=self._note,
            force=force,
            only_superseded=only_superseded,
            newest_id=newest,
            in_background=False,
        )
        because = _BROKEN_OFF
        try:
            chosen = batches.letters_of(batch)
            code = self._decide(pieces(chosen, newest=newest), batch=batch)
            because = "stopped on request" if self._was_stopped else ""
        except (Error, TransientError) as error:
            because = sanitised(error)[:500]
            raise
        finally:
            self._keep_end(batch, because)
            if not self._quiet:
                self._command.stdout.write(f"{self._done} done, {self._refused} refused.")
        return code

    def write_json(self) -> None:
        rows = [
            {"id": each.letter_id, "done": each.done, "said": each.said} for each in self._answers
        ]
        self._command.stdout.write(json.dumps(rows))

    def _is_confirmed(self, matched: int) -> bool:
        letters = f"{matched} letter" if matched == 1 else f"{matched} letters"
        question = f"{self._verb.capitalize()} {letters}? [y/N] "
        if not sys.stdin.isatty():
            raise CommandError(
                f"{letters} to {self._verb}; --yes confirms it where nobody can be asked",
                returncode=MISUSED,
            )
        self._command.stderr.write(question, ending="")
        self._command.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _decide(self, some: Iterable[Sequence[int]], *, batch: OperatorBatch | None) -> int:
        last_words = partial(self._keep_end, batch, _ABANDONED) if batch else None
        with Lifetime(one_shot=True, last_words=last_words) as lifetime:
            for piece in some:
                self._report(self._act(piece, operator=self._by, batch=batch), batch is None)
                if lifetime.stopping:
                    self._was_stopped = True
                    self._command.stderr.write("Stopped on request; the letters so far are done.")
                    break
        return FAILED if self._refused else DONE

    def _keep_end(self, batch: OperatorBatch, because: str) -> None:
        OperatorBatch.objects.filter(pk=batch.pk).update(
            done=self._done, refused=self._refused, finished_at=Now(), ended_because=because
        )

    def _report(self, answers: Sequence[Answer], one_by_one: bool) -> None:
        self._done += sum(answer.done for answer in answers)
        self._refused += sum(not answer.done for answer in answers)
        if self._quiet:
            self._answers += answers
            return
        for answer in answers:
            if not answer.done:
                self._command.stderr.write(f"{answer.letter_id}: {answer.said}")
            elif one_by_one:
                self._command.stdout.write(f"{answer.letter_id}: {answer.said}")
