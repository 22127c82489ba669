"""Fixtures for every test; see CONTRIBUTING for a list of what there is."""

import logging
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connections
from django.utils import translation
from hypothesis import HealthCheck, settings

from catalogsite.databases import read_database
from tests.emptying import empty_quickly_after_tests
from tests.environment import PROJECT, run_folder
from tests.processes.database import database_of_run, drop_database, fresh_database

pytest_plugins = [
    "tests.broker_node",
    "tests.postgres_cluster",
    "tests.processes.harness",
    "tests.processes.queues",
]


# A machine under load is no failure: an example may take the time it takes.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


# Whoever works on the database of the run has it by one of these, or by the mark `django_db`.
DATABASE_FIXTURES = {"db", "transactional_db", "run", "house"}
# Folders of tests that take seconds each, the longest first.
LONG_TESTS = ("browser", "dev", "bench", "processes")


def pytest_configure(config: pytest.Config) -> None:
    django_settings.PASSWORD_HASHERS = ["tests.quick_passwords.QuickPasswordHasher"]
    # Else each test client reads every static file's name and date anew, for nobody.
    django_settings.WHITENOISE_AUTOREFRESH = True
    empty_quickly_after_tests()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """What works on no database says the same on every one, without a mark of its own.

    And long tests run first, in whatever order otherwise: no worker idles at the end.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if not (item.get_closest_marker("django_db") or fixtures & DATABASE_FIXTURES):
            item.add_marker(pytest.mark.any_database)
    yield
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    folder = item.path.relative_to(PROJECT / "tests").parts[0]
    return LONG_TESTS.index(folder) if folder in LONG_TESTS else len(LONG_TESTS)


@pytest.fixture(autouse=True)
def _nothing_left_to_the_next_test() -> Iterator[None]:
    """A request leaves its language to the thread, and counts to the cache."""
    # At DEBUG it fills the report of a failed test with hundreds of lines. Django sets it anew.
    logging.getLogger("pika").setLevel(logging.WARNING)
    yield
    translation.deactivate()
    cache.clear()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """The test database is there already, migrated (see below)."""
    return True


@pytest.fixture(scope="session")
def django_db_modify_db_settings(worker_id: str) -> Iterator[None]:
    """The test database: a copy of the one that was migrated once for the whole run.

    On SQLite a file, never memory: threads and locks behave as in life. Its name is this run's
    and this worker's own, so that runs may share one server.
    """
    name = f"test_{run_folder().name.rpartition('-')[2]}_{worker_id}".lower()
    url = fresh_database(database_of_run(), name=name)
    entry = read_database(url, name="DATABASE_URL", root=PROJECT)
    django_settings.DATABASES["default"]["TEST"]["NAME"] = entry["NAME"]
    yield
    connections.close_all()
    drop_database(url, run_url=database_of_run())
