"""What the settings become with given variables, and how a process ends that refuses them."""

import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from tests.environment import PROJECT, clean_environment
from tests.processes.command import run_to_end


def refused(*command: str, project: Path = PROJECT, **variables: str | None) -> str:
    """The one line that python with that command says; fails unless it ends with exit code 2."""
    done = run_to_end(
        [sys.executable, *(command or ("manage.py", "check"))],
        environment=_environment(variables),
        folder=project,
    )
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def settings_of(*names: str, project: Path, **variables: str | None) -> dict[str, Any]:
    """The values that these settings have with these variables alone. Raises SettingError."""
    with mock.patch.dict(os.environ, _environment(variables), clear=True):
        found = runpy.run_path(str(project / "catalogsite" / "settings.py"))
    return {name: found[name] for name in names}


def _environment(variables: Mapping[str, str | None]) -> dict[str, str]:
    variables = {"SECRET_KEY": "k" * 50, **variables}
    given = {name: value for name, value in variables.items() if value is not None}
    return clean_environment() | given
