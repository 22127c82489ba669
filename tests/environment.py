"""Loaded before Django's settings (`-p tests.environment`): the run folder and the variables.

One run folder for the whole run, all xdist workers together: databases, the shared broker node
and every process that a test starts live below it. A guardian ends them and removes the folder
when the run ends, even when it is killed. RUN_FOLDER can be given from outside (`make test`):
then whoever made it ends it.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from dev import guardian, kept_services

PROJECT = Path(__file__).resolve().parent.parent
RUN_FOLDER = "CATALOGSITE_TEST_RUN"
SERVICES_FOLDER = "CATALOGSITE_TEST_SERVICES"
DATABASE_GIVEN = "CATALOGSITE_TEST_DATABASE_URL"

_SETTINGS = (
    "AMQP_URL",
    "DATABASE_URL",
    "SECRET_KEY",
    "DEBUG",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DELIVERY_NAMESPACE",
    "DELIVERY_QUEUE_TYPE",
    "DELIVERY_RETRY_DELAY_MS",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "SIMULATE_TEMPORARY",
    "LANGUAGE_CODE",
)


def run_folder() -> Path:
    """Where this run keeps everything; removed when it ends."""
    return Path(os.environ[RUN_FOLDER])


def services_folder() -> Path:
    """Where the shared broker node lives: the run folder, or services kept between runs."""
    return Path(os.environ[SERVICES_FOLDER])


def clean_environment() -> dict[str, str]:
    """The environment of this process without any setting of the project."""
    return {name: value for name, value in os.environ.items() if name not in _SETTINGS}


def _prepare() -> "guardian.Guard | None":
    guard = None
    if RUN_FOLDER not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="catalogsite-test-"))
        # The PostgreSQL server has a user of its own and must get through.
        folder.chmod(0o711)
        os.environ[RUN_FOLDER] = str(folder)
        os.environ[SERVICES_FOLDER] = str(kept_services.kept_folder() or folder)
        guard = guardian.watch_over(folder)
    os.environ.setdefault(SERVICES_FOLDER, os.environ[RUN_FOLDER])
    # A worker gets the database of the run, not the one its parent wrote over it.
    given = os.environ.setdefault(DATABASE_GIVEN, os.environ.get("DATABASE_URL", ""))
    for name in _SETTINGS:
        os.environ.pop(name, None)
    os.environ.update(
        # Nobody listens there: a test that forgets to ask for a broker finds none.
        AMQP_URL="amqp://guest:guest@127.0.0.1:9/%2F",
        DATABASE_URL=given or f"sqlite:///{run_folder()}/unused.sqlite3",
        SECRET_KEY="a key for tests alone, as long as Django wants a key to be",
        DEBUG="false",
        ALLOWED_HOSTS="testserver,localhost,127.0.0.1",
        CSRF_TRUSTED_ORIGINS="http://testserver",
        DELIVERY_NAMESPACE="unset",
        DELIVERY_QUEUE_TYPE="classic",
        DELIVERY_RETRY_DELAY_MS="300",
        LOG_FORMAT="json",
        LOG_LEVEL="INFO",
        # Not left out: a developer's .env may name one.
        SIMULATE_TEMPORARY="of-no-test",
    )
    return guard


_guard = _prepare()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _guard is not None:
        _guard.release()
        shutil.rmtree(run_folder(), ignore_errors=True)
