"""`withdraw_material ID… --reason TEXT`: the editor's button “Withdraw”, in the shell."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from materials import actions
from materials.content import reason_faults
from materials.management.actor import add_actor
from materials.management.each import act_on_each
from messaging import outbox


class Command(BaseCommand):
    help = (
        "Take these published materials away from readers, each as its next revision with an "
        "event in the outbox. Drafts and what is withdrawn already are refused; the rest goes "
        "on, and the exit code is then 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", metavar="ID", nargs="+", help="a material's id: article-107")
        parser.add_argument(
            "--reason",
            required=True,
            metavar="TEXT",
            type=_reason,
            help="why, as history and event will tell (at most 500 characters)",
        )
        add_actor(parser)

    def handle(self, *args: Any, ids: list[str], reason: str, actor: str, **options: Any) -> None:
        bulk = len(ids) > outbox.MOST_AT_ONCE
        act_on_each(
            self,
            ids,
            lambda material_id: actions.withdraw(
                material_id, reason=reason, actor=actor, bulk=bulk
            ),
            done="withdrawn",
        )


def _reason(text: str) -> str:
    if faults := reason_faults(text):
        raise argparse.ArgumentTypeError(" ".join(faults))
    return text
