"""The pages' door: what gunicorn (with gunicorn.conf.py) and runserver serve.

A wrong setting is refused before this module is reached. A server that comes here by another
way gets the SettingError itself: gunicorn then stops instead of restarting its workers.
"""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "catalogsite.settings")
application = get_wsgi_application()
