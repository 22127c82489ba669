#!/usr/bin/env python
"""The commands' door."""

import sys

from catalogsite.start import read_settings, set_up_logging


def main() -> None:
    read_settings(serves_pages=sys.argv[1:2] == ["runserver"])
    set_up_logging()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
