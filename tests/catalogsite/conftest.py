"""A project folder of the test's own."""

import shutil
from pathlib import Path

import pytest

from tests.environment import PROJECT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the same code and nothing else: no `.env`, no `var`."""
    folder = tmp_path / "project"
    # Settings find the project by their own place: these are copies, the rest are links.
    shutil.copytree(PROJECT / "catalogsite", folder / "catalogsite")
    for name in ("manage.py", "gunicorn.conf.py"):
        shutil.copy(PROJECT / name, folder)
    for name in ("messaging", "materials", "templates", "static"):
        (folder / name).symlink_to(PROJECT / name)
    return folder
