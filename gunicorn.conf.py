"""gunicorn reads this by itself: settings are checked once, before any worker is started."""

import gc

from catalogsite.start import read_settings, set_up_logging

read_settings(serves_pages=True)
set_up_logging()

wsgi_app = "catalogsite.wsgi:application"
bind = "127.0.0.1:8000"
worker_class = "gthread"
workers = 2
threads = 8
# Loaded before the fork: a fault in the code ends gunicorn instead of restarting workers for
# ever, and the workers share the memory.
preload_app = True
# Nobody needs a second way in.
control_socket_disable = True
# Below the 5 s in which SIGTERM must have ended the process.
graceful_timeout = 3
logger_class = "catalogsite.gunicorn_logs.GunicornLogs"


def when_ready(_server: object) -> None:
    """Collectors of garbage leave alone what was loaded: it stays shared, and no page waits.

    Source: `gc.freeze` in Python's library reference.
    """
    gc.freeze()
