#!/usr/bin/env python
"""The commands' door."""

import sys

from catalogsite.start import read_settings


def main() -> None:
    read_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
