"""What the processes say about themselves: one record a line, to standard error, screened.

LOGGING_CONFIG names `configure`, so Django calls it at start with the setting LOGGING.
structlog's records and those of the standard library (Django, pika, gunicorn) take the same
way: level, logger and time are added, the values are made plain and screened, then one line
is written.
"""

import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

import structlog

from messaging.running.error_texts import traceback_text
from messaging.running.log_lines import (
    screen_values,
    write_console,
    write_console_many,
    write_json,
    write_json_many,
)

# Pika reports a failed connection seven times before its caller has been told, and the caller
# knows whether it matters: under LOG_LEVEL=DEBUG alone, and then as debug records.
_PIKA = "pika"
_QUIET = {_PIKA: logging.INFO, "asyncio": logging.WARNING, "axes": logging.WARNING}

_settings: dict[str, Any] = {"format": "console"}


def configure(logging_setting: Mapping[str, Any]) -> None:
    """Send every record of this process to standard error.

    `logging_setting` has `format` (`console` or `json`) and `level`. May be called again.
    """
    _settings["format"] = logging_setting["format"]
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(_traceback),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = StandardError()
    handler.addFilter(_tame)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                screen_values,
                write_json if logging_setting["format"] == "json" else write_console,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging_setting["level"])
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))
    for name in ("django", "django.server"):
        # Django's own defaults write past the root.
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.NOTSET)


def log_many(logger: str, event: str, records: Sequence[Mapping[str, str | int | None]]) -> None:
    """Write an `info` record for each, in one write: for what happens thousands of times a second.

    Not screened, and in no other way than to standard error: ids, numbers and our own words only.
    """
    if not logging.getLogger(logger).isEnabledFor(logging.INFO):
        return
    write_many = write_json_many if _settings["format"] == "json" else write_console_many
    head = {
        "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "level": "info",
        "event": event,
        "logger": logger,
    }
    lines = write_many(head, records)
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write("\n".join([*lines, ""]))


def take_over_process() -> None:
    """Also log what Python would print by itself: uncaught errors and warnings."""
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda args: _log_uncaught(
        args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
    )
    logging.captureWarnings(capture=True)


class StandardError(logging.StreamHandler[TextIO]):
    """Writes to what sys.stderr is at that moment; a record that cannot be written is lost."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        """Set by logging's own code alone; standard error it stays."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say which logger it was. The standard answer prints the record's raw arguments."""
        kind = sys.exc_info()[0]
        name = kind.__name__ if kind else "an error"
        try:
            sys.stderr.write(f"a log record of {record.name!r} could not be written: {name}\n")
        except (OSError, ValueError, AttributeError):
            return


def _traceback(exc_info: tuple[Any, BaseException, Any]) -> str:
    return traceback_text(exc_info[1])


def _tame(record: logging.LogRecord) -> bool:
    if record.name.partition(".")[0] != _PIKA:
        return True
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    structlog.get_logger(__name__).critical("uncaught error", exc_info=(kind, error, trace))
