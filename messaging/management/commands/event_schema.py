"""`event_schema`: writes docs/event.schema.json from the registered types, or checks it."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from messaging import registry
from messaging.event.schema import render


class Command(BaseCommand):
    help = "Write docs/event.schema.json from the registered event types."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing; exit 1 where the file is stale"
        )

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "event.schema.json"
        current = render(registry.event_types())
        if not check:
            path.write_text(current, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != current:
            raise CommandError(f"{path.name} is stale: run manage.py event_schema", returncode=1)
