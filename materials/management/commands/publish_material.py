"""`publish_material ID…`: the editor's button “Publish”, in the shell."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from materials import actions
from materials.management.actor import add_actor
from materials.management.each import act_on_each
from messaging import outbox


class Command(BaseCommand):
    help = (
        "Publish the drafts of these materials, each as its next revision with an event in the "
        "outbox. What is published already as it stands is refused; the rest goes on, and the "
        "exit code is then 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", metavar="ID", nargs="+", help="a material's id: article-107")
        add_actor(parser)

    def handle(self, *args: Any, ids: list[str], actor: str, **options: Any) -> None:
        bulk = len(ids) > outbox.MOST_AT_ONCE
        act_on_each(
            self,
            ids,
            lambda material_id: actions.publish(material_id, actor=actor, bulk=bulk),
            done="published",
        )
