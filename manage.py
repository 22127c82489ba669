#!/usr/bin/env python
"""The commands' door."""

import sys

from catalogsite.early_stop import obey_stop_signals


def main() -> None:
    obey_stop_signals(sys.argv)
    from catalogsite.start import read_settings, run_command, set_up_logging

    read_settings(serves_pages=sys.argv[1:2] == ["runserver"])
    set_up_logging()
    run_command(sys.argv)


if __name__ == "__main__":
    main()
