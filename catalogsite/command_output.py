"""Standard output as commands write to it: any text, and a failure to write is told in one line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from django.core.management.base import CommandError

from messaging.running.exit_codes import FAILED


class CommandOutput:
    """Stands for the stream. What its encoding lacks is written as an escape.

    Raises CommandError (exit 1) where the stream takes nothing, a full disk for instance;
    BrokenPipeError, of a reader that has seen enough, as it is.
    """

    def __init__(self, stream: TextIO | None) -> None:
        # A process may be started without one; ours is open as long as the process is.
        self._stream: Any = stream or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if hasattr(self._stream, "reconfigure"):
            self._stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _told():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with _told():
            self._stream.flush()


@contextmanager
def command_output() -> Iterator[None]:
    """Have what runs inside write to it; what is left at the end is written, or told.

    A reader of standard output that goes away early is no failure.
    """
    output = CommandOutput(sys.stdout)
    sys.stdout = output
    try:
        try:
            yield
        finally:
            output.flush()
    except BrokenPipeError as error:
        _pass_over_the_rest(output)
        if isinstance(error.__context__, SystemExit):
            raise error.__context__ from None
    except CommandError as error:
        _pass_over_the_rest(output)
        print(f"CommandError: {error}", file=sys.stderr)  # noqa: T201 - as Django tells others
        sys.exit(error.returncode)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(
            f"standard output takes no more: {error.strerror}. What was done before is done.",
            returncode=FAILED,
        ) from error


def _pass_over_the_rest(output: CommandOutput) -> None:
    """Python's own last flush shall not complain of it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
