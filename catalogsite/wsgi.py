"""The pages' door: what gunicorn and runserver serve."""

from django.core.wsgi import get_wsgi_application

from catalogsite.start import read_settings

read_settings()
application = get_wsgi_application()
