#!/usr/bin/env python
"""The commands' door."""

import sys

from catalogsite.prompt_stop import prompt_stop


def main() -> None:
    with prompt_stop(sys.argv):
        from catalogsite.start import read_settings, run_command, set_up_logging

        read_settings(serves_pages=sys.argv[1:2] == ["runserver"])
        set_up_logging()
        run_command(sys.argv)


if __name__ == "__main__":
    main()
