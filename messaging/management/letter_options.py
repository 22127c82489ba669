"""The options by which letters are named and filtered on a command line."""

import argparse
import os
import pwd
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from messaging import registry
from messaging.letters.search import ALL, Selection, as_moment
from messaging.management.whole_numbers import whole_number
from messaging.models import DeadLetter
from messaging.operating.decision_log import Operator
from messaging.running.inert_text import storable


def add_filters(parser: CommandParser, *, state: str | None, reason_is_why: bool = False) -> None:
    """Every filter; together they narrow. With `reason_is_why` --reason has another meaning."""
    filters = parser.add_argument_group("which letters")
    states = [*DeadLetter.State.values, ALL]
    said = "default: %(default)s" if state else "default: open; as JSON, which tells it, all"
    filters.add_argument("--state", choices=states, default=state, help=said)
    filters.add_argument("--consumer", choices=[each.name for each in registry.consumers()])
    filters.add_argument(
        "--failure",
        *([] if reason_is_why else ["--reason"]),
        metavar="CLASS",
        help="the failure's class, such as MalformedEvent",
    )
    filters.add_argument("--type", metavar="TYPE", help="the event's type")
    filters.add_argument("--material", metavar="ID")
    filters.add_argument("--event", metavar="UUID")
    filters.add_argument(
        "--since", type=_moment, metavar="TIME", help="died then or later; UTC without an offset"
    )
    filters.add_argument("--until", type=_moment, metavar="TIME", help="died before that")
    filters.add_argument(
        "--search", metavar="TEXT", help="in the error or the body; or an id given whole"
    )


def selection(options: dict[str, Any]) -> Selection:
    """What those options say."""
    return Selection(
        state=options["state"] or (ALL if options["json"] else DeadLetter.State.OPEN),
        consumer=options["consumer"] or "",
        reason=options["failure"] or "",
        type=options["type"] or "",
        material=options["material"] or "",
        event=options["event"] or "",
        since=options["since"],
        until=options["until"],
        text=options["search"] or "",
    )


def add_decision(parser: CommandParser, *, state: str, reason_is_why: bool = False) -> None:
    """The letters by id or by filters, who decides, and how it is told."""
    parser.add_argument("ids", nargs="*", type=letter_id, metavar="ID")
    parser.add_argument(
        "--all-matching", action="store_true", help="all that the filters match, once confirmed"
    )
    parser.add_argument("--yes", action="store_true", help="confirm --all-matching beforehand")
    add_operator(parser)
    parser.add_argument("--json", action="store_true", help="one JSON array on standard output")
    add_filters(parser, state=state, reason_is_why=reason_is_why)


def add_operator(parser: CommandParser) -> None:
    """Who decides, or looks at a body."""
    parser.add_argument(
        "--operator",
        metavar="NAME",
        default=_login(),
        help="who you are, as the decision log will tell (default: %(default)s)",
    )


def letter_id(text: str) -> int:
    """A letter's number, for argparse."""
    number = whole_number(text, least=1, most=2**63 - 1)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is not a letter's number")
    return number


def operator(name: str) -> Operator:
    """The name given, with the account of that name where there is one."""
    account = get_user_model()._default_manager.filter(username=storable(name)).first()
    return Operator(name=name, user_id=account.pk if account else None)


def _moment(text: str) -> datetime:
    found = as_moment(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is neither a date nor a time")
    return found


def _login() -> str:
    """Whoever runs the command, as the system knows them."""
    try:
        return f"{pwd.getpwuid(os.getuid()).pw_name} (shell)"
    except KeyError:
        return f"uid {os.getuid()} (shell)"
