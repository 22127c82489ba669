"""The way into every process: settings are read first, and a wrong one ends it with exit 2."""

import os
import sys

from catalogsite.environment import SettingError

WRONG_SETTING = 2


def read_settings() -> None:
    """Read the settings, or end the process with one line on standard error and exit 2."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "catalogsite.settings")
    from django.conf import settings

    try:
        settings.DEBUG  # noqa: B018 - the first look reads them all
    except SettingError as error:
        print(error, file=sys.stderr)  # noqa: T201 - logging is not set up yet
        sys.exit(WRONG_SETTING)
