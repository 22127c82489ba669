"""gunicorn's own records, sent the way of all others."""

from typing import Any

from gunicorn.glogging import Logger


class GunicornLogs(Logger):  # type: ignore[misc]  # untyped
    """Leaves form and place of a record to messaging.running.logs, except where an operator has
    asked gunicorn for a file of its own (`--error-logfile`, `--access-logfile`)."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for logger, target in ((self.error_log, cfg.errorlog), (self.access_log, cfg.accesslog)):
            if target in (None, "-"):
                logger.handlers = []
                logger.propagate = True
