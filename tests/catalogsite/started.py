"""Starts `manage.py` and reads what the settings became, or how they were refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.environment import PROJECT, clean_environment

_SHOW = """
import json, sys
from catalogsite.start import read_settings
read_settings(serves_pages=False)
from django.conf import settings
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))
"""


def refused(*command: str, project: Path = PROJECT, **variables: str | None) -> str:
    """The one line that python with that command says; fails unless it ends with exit code 2."""
    done = _run([sys.executable, *(command or ("manage.py", "check"))], project, variables)
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def settings_of(*names: str, project: Path = PROJECT, **variables: str | None) -> dict[str, Any]:
    """The values that these settings have in a process started with the variables."""
    done = _run([sys.executable, "-c", _SHOW, *names], project, variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _run(
    command: list[str], project: Path, variables: dict[str, str | None]
) -> "subprocess.CompletedProcess[str]":
    variables = {"SECRET_KEY": "k" * 50, **variables}
    environment = clean_environment() | {
        name: value for name, value in variables.items() if value is not None
    }
    return subprocess.run(
        command,
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
