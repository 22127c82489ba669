"""The `.env` of a checkout: a person's own is read and never written; without one we keep ours.

Ours tells other terminals of this checkout (`manage.py …`) what `make up` runs with.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from catalogsite.environment import Environment

MARK = "# Written by `make up`, again at each run. Take this line out to make the file your own."


def given_settings(process: Mapping[str, str], *, dotenv: Path) -> Environment:
    """What a person has set: in the environment, or in a `.env` of their own.

    Raises SettingError for a `.env` that cannot be read.
    """
    return Environment(process, dotenv=dotenv.with_name(".env.none") if is_ours(dotenv) else dotenv)


def is_ours(dotenv: Path) -> bool:
    """Whether we wrote it, or may write it because there is none."""
    try:
        return dotenv.read_bytes().startswith(MARK.encode())
    except FileNotFoundError:
        return not dotenv.is_symlink()
    except OSError:
        return False


def keep(dotenv: Path, values: Mapping[str, str]) -> None:
    """Write ours, readable by its owner alone. A person's own stays as it is."""
    if not is_ours(dotenv):
        return
    text = "\n".join([MARK, *(f"{name}={value}" for name, value in values.items()), ""])
    draft = dotenv.with_name(".env.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(dotenv)
