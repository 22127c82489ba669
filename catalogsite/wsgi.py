"""The pages' door: what gunicorn and runserver serve.

With gunicorn.conf.py a wrong setting is refused before this module is reached. Without it
(gunicorn started elsewhere) a worker comes here first, and gunicorn restarts a worker for ever,
whatever its exit code, except for 3: then it ends, with 3.
"""

import sys

from django.core.wsgi import get_wsgi_application

from catalogsite.request_charset import Utf8Request
from catalogsite.start import WRONG_SETTING, read_settings

_GUNICORN_WORKER_CANNOT_BOOT = 3

read_settings(
    serves_pages=True,
    exit_code=_GUNICORN_WORKER_CANNOT_BOOT if "gunicorn.arbiter" in sys.modules else WRONG_SETTING,
)
application = get_wsgi_application()
application.request_class = Utf8Request
