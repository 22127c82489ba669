"""Fixtures for every test; see CONTRIBUTING for a list of what there is."""

import pytest
from hypothesis import HealthCheck, settings

from tests.environment import run_folder

pytest_plugins = [
    "tests.broker_node",
    "tests.postgres_cluster",
    "tests.processes.harness",
    "tests.processes.queues",
]


# A machine under load is no failure: an example may take the time it takes.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings as django_settings

    django_settings.PASSWORD_HASHERS = ["tests.quick_passwords.QuickPasswordHasher"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(worker_id: str) -> None:
    """The test database: a file on SQLite (threads and locks behave as in life), never memory.

    Its name is this run's and this worker's own, so that runs may share one server.
    """
    from django.conf import settings

    default = settings.DATABASES["default"]
    run = run_folder().name.rpartition("-")[2]
    if default["ENGINE"].endswith("sqlite3"):
        default["TEST"]["NAME"] = str(run_folder() / f"test-{worker_id}.sqlite3")
    else:
        default["TEST"]["NAME"] = f"test_{run}_{worker_id}".lower()
