"""Tables as commands draw them on standard output."""

from typing import IO, cast

from django.core.management.base import OutputWrapper
from rich.console import Console

# A pipe has no width of its own; names must stay whole in it.
PIPE_COLUMNS = 200


class TableConsole(Console):
    """On a command's own standard output. Foreign text is shown as it is, not read as markup."""

    def __init__(self, stdout: OutputWrapper) -> None:
        super().__init__(
            file=cast(IO[str], stdout._out),
            width=None if stdout.isatty() else PIPE_COLUMNS,
            markup=False,
            highlight=False,
        )
