"""A batch whose transaction failed, in halves: it costs the good ones among it nothing.

What a handler refuses is found within one transaction (see `effects`). This is for the rest: an
error at the commit, a lock or deadlock, a search that took too long.
"""

from collections.abc import Callable, Iterator, Sequence

from messaging.envelope import Event
from messaging.errors import ConfigurationError, OutageError, PermanentError
from messaging.handling.reading import Readable
from messaging.handling.unhandled import Unhandled
from messaging.registry import Outcome
from messaging.storing.database_errors import kind_of

Handle = Callable[[Sequence[Event]], Sequence[Outcome | Exception]]
Handled = tuple[Readable, Outcome]  # its outcome is committed


def handle_in_halves(
    readable: Sequence[Readable],
    handle: Handle,
) -> Iterator[Handled | Unhandled]:
    """What became of each, as `handle` commits them: all at once, or half by half, in order.

    `handle` is all or nothing. A failure is a message's own when it fails alone; an OutageError
    or ConfigurationError is nobody's and goes through.
    """
    if not readable:
        return
    outcomes = _try(handle, [each.event for each in readable])
    if not isinstance(outcomes, Exception):
        for each, outcome in zip(readable, outcomes, strict=True):
            yield _failed(each, outcome) if isinstance(outcome, Exception) else (each, outcome)
    elif len(readable) == 1:
        yield _failed(readable[0], outcomes)
    else:
        del outcomes  # Its traceback would keep the whole batch alive meanwhile.
        middle = len(readable) // 2
        yield from handle_in_halves(readable[:middle], handle)
        yield from handle_in_halves(readable[middle:], handle)


def _failed(each: Readable, error: Exception) -> Unhandled:
    return each.failed(error, transient=not issubclass(kind_of(error), PermanentError))


def _try(handle: Handle, events: Sequence[Event]) -> Sequence[Outcome | Exception] | Exception:
    try:
        return handle(events)
    except (OutageError, ConfigurationError):
        raise
    except Exception as error:  # noqa: BLE001  # a handler may raise anything
        return error
