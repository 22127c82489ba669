"""The product: `import_materials DIR --publish`, files to published materials."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout

import django

from bench.timed import Done


def prepare(*, folder: str, count: int) -> Callable[[], Done]:
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    connection.ensure_connection()

    def work() -> Done:
        with redirect_stdout(io.StringIO()):  # standard output is how the turn is told
            call_command("import_materials", folder, "--publish", "--actor", "editor")
        return Done(count)

    return work
