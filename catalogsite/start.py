"""The way into every process: settings are read first, and a wrong one ends it with exit 2."""

import os
import sys
from collections.abc import Sequence

from catalogsite.environment import SettingError

WRONG_SETTING = WRONG_USE = 2


def read_settings(*, serves_pages: bool, exit_code: int = WRONG_SETTING) -> None:
    """Read the settings, or end the process with one line on standard error and exit 2.

    Pages want a SECRET_KEY of their own outside DEBUG: sessions are signed with it, and the
    kept one is not shared by the hosts behind one name. Commands sign nothing.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "catalogsite.settings")
    from django.conf import settings

    try:
        if serves_pages and not settings.DEBUG and settings.SECRET_KEY_IS_KEPT:
            raise SettingError("SECRET_KEY", "is missing; pages need it while DEBUG is false")
        settings.DEBUG  # noqa: B018 - the first look reads them all
    except SettingError as error:
        print(error, file=sys.stderr)  # noqa: T201 - logging is not set up yet
        sys.exit(exit_code)


def set_up_logging() -> None:
    """Send all that this process says about itself through messaging.running.logs."""
    from django.conf import settings
    from django.utils.log import configure_logging

    from messaging.running.logs import take_over_process

    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    take_over_process()


def run_command(arguments: Sequence[str]) -> None:
    """Run the management command. Django ends with 1 for one that does not exist; here it is 2."""
    from django.core.management import ManagementUtility
    from django.core.management.base import BaseCommand

    from catalogsite.command_output import command_output

    class Commands(ManagementUtility):
        def fetch_command(self, subcommand: str) -> BaseCommand:
            try:
                return super().fetch_command(subcommand)
            except SystemExit:
                sys.exit(WRONG_USE)

    with command_output():
        Commands(list(arguments)).execute()
