"""Every setting and every read of the environment. docs/settings.md explains each variable."""

import os
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from csp.constants import NONE, SELF

from catalogsite.databases import read_database
from catalogsite.environment import Environment, SettingError
from catalogsite.known_secrets import known_secrets
from catalogsite.secret_key import kept_secret_key
from messaging.broker.address import BrokerAddress
from messaging.errors import ConfigurationError
from messaging.event.fields import MATERIAL_ID

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = BASE_DIR / "var"

env = Environment(os.environ, dotenv=BASE_DIR / ".env")

# --- the process -------------------------------------------------------------------------

DEBUG = env.boolean("DEBUG", default=False)
LOG_FORMAT = env.choice("LOG_FORMAT", default="console", choices=["console", "json"])
LOG_LEVEL = env.choice(
    "LOG_LEVEL",
    default="INFO",
    choices=["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
    any_case=True,
)
LOGGING_CONFIG = "messaging.running.logs.configure"
LOGGING = {"format": LOG_FORMAT, "level": LOG_LEVEL}

# --- the database ------------------------------------------------------------------------

DATABASE_URL = env.text("DATABASE_URL", default="sqlite:///var/catalog.sqlite3")
DATABASES = {"default": read_database(DATABASE_URL, name="DATABASE_URL", root=BASE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- delivery ----------------------------------------------------------------------------

AMQP_URL = env.text("AMQP_URL", default="amqp://guest:guest@127.0.0.1:5672/%2F")
try:
    AMQP = BrokerAddress.parse(AMQP_URL)
    # Made once for the sake of its refusals: a certificate that cannot be read.
    AMQP.tls_context()
except ConfigurationError as error:
    raise SettingError("AMQP_URL", str(error)) from None

# The longest name made from it, NS.<consumer>.retry, must stay below the 255 bytes of AMQP.
DELIVERY_NAMESPACE = env.matching(
    "DELIVERY_NAMESPACE",
    default="delivery",
    pattern=r"(?!amq(\.|$))[A-Za-z0-9._-]{1,60}",
    says="must be 1 to 60 letters, digits, '.', '_' or '-', and not begin with 'amq.'",
)
DELIVERY_QUEUE_TYPE = env.choice(
    "DELIVERY_QUEUE_TYPE", default="classic", choices=["classic", "quorum"]
)
# The most that RabbitMQ takes as x-message-ttl: ten years.
DELIVERY_RETRY_DELAY_MS = env.integer(
    "DELIVERY_RETRY_DELAY_MS", default=5000, least=1, most=315_360_000_000
)
SIMULATE_TEMPORARY = frozenset(
    env.items(
        "SIMULATE_TEMPORARY",
        default=[],
        pattern=MATERIAL_ID,
        says="must be material ids separated by commas",
    )
)

# --- secrets -----------------------------------------------------------------------------

# Pages are not served with the kept key outside DEBUG: catalogsite.start.
SECRET_KEY_IS_KEPT = not env.is_set("SECRET_KEY")
SECRET_KEY = kept_secret_key(VAR / "secret-key") if SECRET_KEY_IS_KEPT else env.text("SECRET_KEY")
KNOWN_SECRETS = known_secrets(
    secret_key=SECRET_KEY,
    broker=AMQP,
    database=DATABASES["default"],
    urls=(AMQP_URL, DATABASE_URL),
    public=(DELIVERY_NAMESPACE, "catalog", "audit", "catalogsite", "postgres"),
)
# Django would keep and show them under these names.
del AMQP_URL, DATABASE_URL
DEFAULT_EXCEPTION_REPORTER = "catalogsite.error_reports.ErrorReport"
DEFAULT_EXCEPTION_REPORTER_FILTER = "catalogsite.error_reports.ErrorReportFilter"

# --- the site ----------------------------------------------------------------------------

ALLOWED_HOSTS = env.items(
    "ALLOWED_HOSTS",
    default=["localhost", "127.0.0.1", "[::1]"],
    pattern=r"\*|\.?[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]",
    says="must be host names separated by commas, without scheme and port",
)
_PORT = r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
CSRF_TRUSTED_ORIGINS = env.items(
    "CSRF_TRUSTED_ORIGINS",
    default=[],
    pattern=rf"https?://(\*\.)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:{_PORT})?",
    says="must be origins with scheme and no path, separated by commas: https://example.org",
)

ROOT_URLCONF = "catalogsite.urls"
WSGI_APPLICATION = "catalogsite.wsgi.application"

INSTALLED_APPS = [
    "catalogsite.admin_door.GuardedAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "axes",
    "django_htmx",
    "messaging",
    "materials",
    "materials.catalog",
    "materials.audit",
]

MIDDLEWARE = [
    # Before whatever asks for a host name, a session or a language: a probe has none.
    "messaging.operating.health.answer_probes",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "catalogsite.outages.PatientSessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    # Nothing above reads what a form says.
    "catalogsite.request_charset.refuse_other_charsets",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "catalogsite.outages.OutageMiddleware",
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
                "catalogsite.preferences.theme",
            ]
        },
    }
]

LANGUAGE_CODE = env.choice("LANGUAGE_CODE", default="en", choices=["en", "ru"])
LANGUAGES = [("en", "English"), ("ru", "Русский")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "catalogsite.formats"
USE_TZ = True
TIME_ZONE = env.text("TIME_ZONE", default="UTC")
try:
    ZoneInfo(TIME_ZONE)  # a list of all there are would take each command that starts 40 ms
except (ZoneInfoNotFoundError, ValueError, OSError) as error:
    raise SettingError(
        "TIME_ZONE", "must be a zone of the time zone database: Europe/Berlin"
    ) from error

# --- static files ------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "catalogsite.static_files.HashedStaticFiles"
    },
}
# What was not collected is served from where it lies.
WHITENOISE_USE_FINDERS = True
if not DEBUG:
    STATIC_ROOT.mkdir(exist_ok=True)

# --- security ----------------------------------------------------------------------------

# Whoever lists origins and means HTTPS serves HTTPS, through a proxy that ends TLS.
SERVED_OVER_HTTPS = env.boolean(
    "SERVED_OVER_HTTPS",
    default=bool(CSRF_TRUSTED_ORIGINS)
    and all(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS),
)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SERVED_OVER_HTTPS else None
SECURE_SSL_REDIRECT = SERVED_OVER_HTTPS
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if SERVED_OVER_HTTPS else 0
SESSION_COOKIE_SECURE = SERVED_OVER_HTTPS
CSRF_COOKIE_SECURE = SERVED_OVER_HTTPS
CSRF_FAILURE_VIEW = "catalogsite.outages.csrf_failure"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{validator}"}
    for validator in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/editor/"
LOGOUT_REDIRECT_URL = "/"

# By user and address together, so that nobody can lock out a colleague from elsewhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"  # says how long, too
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ALLOWED_CORS_ORIGINS = "null"
AXES_VERBOSE = False
