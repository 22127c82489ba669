"""The option --actor: under whose name a command acts."""

import argparse

from django.core.management.base import CommandParser

from materials.content import actor_faults

CONSOLE = "console"


def add_actor(parser: CommandParser) -> None:
    """Let the caller say who acts; it stands in the history and in the event."""
    parser.add_argument(
        "--actor",
        metavar="NAME",
        type=_actor,
        default=CONSOLE,
        help=f"who does it, as history and event will tell (default: {CONSOLE})",
    )


def _actor(text: str) -> str:
    if faults := actor_faults(text):
        raise argparse.ArgumentTypeError(" ".join(faults))
    return text
