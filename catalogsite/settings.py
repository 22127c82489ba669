"""Every setting and every read of the environment. docs/settings.md explains each variable."""

import os
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from csp.constants import NONE, SELF

from catalogsite.databases import read_database
from catalogsite.environment import Environment, SettingError
from catalogsite.secret_key import kept_secret_key
from messaging.broker.address import BrokerAddress
from messaging.errors import ConfigurationError

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = BASE_DIR / "var"

env = Environment(os.environ, dotenv=BASE_DIR / ".env")

# --- the process -------------------------------------------------------------------------

DEBUG = env.boolean("DEBUG", default=False)
LOG_FORMAT = env.choice("LOG_FORMAT", default="console", choices=["console", "json"])
LOG_LEVEL = env.choice(
    "LOG_LEVEL", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
)
LOGGING_CONFIG = "messaging.logs.configure"
LOGGING = {"format": LOG_FORMAT, "level": LOG_LEVEL}

# --- the database ------------------------------------------------------------------------

DATABASES = {
    "default": read_database(
        env.text("DATABASE_URL", default="sqlite:///var/catalog.sqlite3"),
        name="DATABASE_URL",
        root=BASE_DIR,
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- delivery ----------------------------------------------------------------------------

try:
    AMQP = BrokerAddress.parse(
        env.text("AMQP_URL", default="amqp://guest:guest@127.0.0.1:5672/%2F")
    )
except ConfigurationError as error:
    raise SettingError("AMQP_URL", str(error)) from None

DELIVERY_NAMESPACE = env.matching(
    "DELIVERY_NAMESPACE",
    default="delivery",
    pattern=r"(?!amq\.)[A-Za-z0-9._-]{1,60}",
    says="must be 1 to 60 letters, digits, '.', '_' or '-', and not start with 'amq.'",
)
DELIVERY_QUEUE_TYPE = env.choice(
    "DELIVERY_QUEUE_TYPE", default="classic", choices=["classic", "quorum"]
)
DELIVERY_RETRY_DELAY_MS = env.integer(
    "DELIVERY_RETRY_DELAY_MS", default=5000, least=1, most=2**32 - 1
)
SIMULATE_TEMPORARY = frozenset(
    env.items(
        "SIMULATE_TEMPORARY",
        default=[],
        pattern=r"[a-z0-9][a-z0-9._-]{0,63}",
        says="must be material ids separated by commas",
        may_be_empty=True,
    )
)

# --- the site ----------------------------------------------------------------------------

SECRET_KEY = (
    env.text("SECRET_KEY") if env.is_set("SECRET_KEY") else kept_secret_key(VAR / "secret-key")
)
ALLOWED_HOSTS = env.items(
    "ALLOWED_HOSTS",
    default=["localhost", "127.0.0.1", "[::1]"],
    pattern=r"\*|\.?[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]",
    says="must be host names separated by commas, without scheme and port",
)
CSRF_TRUSTED_ORIGINS = env.items(
    "CSRF_TRUSTED_ORIGINS",
    default=[],
    pattern=r"https?://(\*\.)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?",
    says="must be origins with their scheme, separated by commas, such as https://example.org",
)

ROOT_URLCONF = "catalogsite.urls"
WSGI_APPLICATION = "catalogsite.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "axes",
    "django_htmx",
    "messaging",
    *(
        app
        for app in ("materials", "materials.catalog", "materials.audit")
        if find_spec(app) and find_spec(f"{app}.apps")
    ),
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/editor/"
LOGOUT_REDIRECT_URL = "/"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ru", "Русский")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
