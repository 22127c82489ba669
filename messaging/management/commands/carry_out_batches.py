"""`carry_out_batches`: decisions over very many letters, piece by piece."""

from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandParser
from django.db import DEFAULT_DB_ALIAS

from messaging import letter_batches
from messaging.database_turns import DatabaseTurns
from messaging.errors import OutageError, TransientError
from messaging.management.running import run_to_exit
from messaging.process import DONE, Lifetime

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Carry out the large actions that operators have decided, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop when none is left")

    def handle(self, *args: Any, **options: Any) -> None:
        run_to_exit(lambda lifetime: _run(lifetime, once=options["once"]))


def _run(lifetime: Lifetime, *, once: bool) -> int:
    turns = DatabaseTurns(DEFAULT_DB_ALIAS, lifetime)
    while not lifetime.stopping:
        try:
            went_on = turns.insist(_carry_on_each, still_wanted=lambda: True)
        except OutageError:
            break
        except TransientError as error:
            log.warning("busy, tried again", reason=str(error))
            went_on = True
            lifetime.pause(LOOK_SECONDS)
        if not went_on:
            if once:
                break
            lifetime.pause(LOOK_SECONDS)
    return DONE


def _carry_on_each() -> bool:
    """A piece of each, so that a small one does not wait for a large one."""
    went_on = False
    for batch_id in letter_batches.pending():
        went_on |= letter_batches.carry_on(batch_id)
    return went_on
