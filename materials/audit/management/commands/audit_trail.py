"""`audit_trail`: what the audit consumer has received, in order of arrival."""

import argparse
import re
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError

from materials.audit import trail
from messaging.event.fields import MATERIAL_ID
from messaging.running.exit_codes import FAILED, MISCONFIGURED
from messaging.running.process import Lifetime
from messaging.storing.database_errors import SET_UP_WRONGLY, is_set_up_wrongly


class Command(BaseCommand):
    help = "Show every fact that the audit consumer has received, in order of arrival."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--material", metavar="ID", type=_material_id, help="the facts of this material alone"
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="one JSON array on standard output alone",
        )

    def handle(self, *args: Any, material: str | None, json: bool, **options: Any) -> None:
        if json and hasattr(self.stdout, "reconfigure"):
            self.stdout.reconfigure(encoding="utf-8")
        records = trail.records(material_id=material)
        pieces = trail.as_json(records) if json else trail.as_lines(records)
        try:
            in_main_thread = threading.current_thread() is threading.main_thread()
            with Lifetime(catch_signals=in_main_thread, one_shot=True) as life:
                for piece in pieces:
                    self.stdout.write(piece, ending="")
                    if not self.stdout.writable():
                        break  # The reader has gone away.
                    if life.stopping:
                        self.stderr.write("Stopped on request; the list is not complete.")
                        break
        except (DatabaseError, InterfaceError) as error:
            if is_set_up_wrongly(error):
                raise CommandError(SET_UP_WRONGLY, returncode=MISCONFIGURED) from error
            raise CommandError(
                "The audit trail cannot be read now: the database is away or busy.",
                returncode=FAILED,
            ) from error


def _material_id(text: str) -> str:
    if not re.fullmatch(MATERIAL_ID, text):
        raise argparse.ArgumentTypeError(f"{text[:80]!a} is not a material's id")
    return text
