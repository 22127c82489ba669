"""What the processes say about themselves: structlog, one record a line, to standard error.

Named by LOGGING_CONFIG, so Django calls `configure` with the setting LOGGING.
"""

import logging
import sys
from typing import Any

import structlog


def configure(settings: dict[str, Any]) -> None:
    """Route structlog and the standard library's loggers to one handler."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    render: Any = (
        structlog.processors.JSONRenderer()
        if settings["format"] == "json"
        else structlog.processors.LogfmtRenderer()
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings["level"])
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    logging.getLogger("django").handlers = []
