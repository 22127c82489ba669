"""Standard output and standard error as commands write to them: any text, and never an error.

A command acts and reports in turns, and what cannot be reported must not leave the acting half
done. So a stream that takes no more falls silent, and the work goes on to its end.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from messaging.running.exit_codes import FAILED


class CommandOutput:
    """Stands for the stream. What its encoding lacks is written as an escape.

    `lost` is what first kept text from being written. After it nothing more is tried, unless the
    stream `is_a_log`, whose next line may find room again.
    """

    def __init__(self, stream: TextIO | None, *, is_a_log: bool = False) -> None:
        # A process may be started without one; ours is open as long as the process is.
        self._stream: Any = stream or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        self._is_a_log = is_a_log
        self.lost: OSError | None = None
        if hasattr(self._stream, "reconfigure"):
            self._stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if self.writable():
            with self._remembered():
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self.writable():
            with self._remembered():
                self._stream.flush()

    def writable(self) -> bool:
        """Whether there is any use in writing more: a command that only lists may end."""
        return self.lost is None or self._is_a_log

    @contextmanager
    def _remembered(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = self.lost or error


@contextmanager
def command_output() -> Iterator[None]:
    """Have what runs inside write to them; what is left at the end is written.

    Ends with exit 1 and one line where standard output took no more, a full disk for instance,
    and the work itself has not failed. A reader that goes away early is no failure.
    """
    sys.stdout = output = CommandOutput(sys.stdout)
    sys.stderr = errors = CommandOutput(sys.stderr, is_a_log=True)
    try:
        yield
    except SystemExit as end:
        if end.code:
            raise
    finally:
        output.flush()
        fault = None if isinstance(output.lost, BrokenPipeError) else output.lost
        if fault:
            # As Django tells of other failures.
            errors.write(
                f"CommandError: standard output takes no more: {fault.strerror}. "
                "The report is cut short, not the work.\n"
            )
        errors.flush()
        for stream in (output, errors):
            if stream.lost:
                _pass_over_the_rest(stream)
    if fault:
        sys.exit(FAILED)


def _pass_over_the_rest(output: CommandOutput) -> None:
    """Python's own last flush shall not complain of it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
