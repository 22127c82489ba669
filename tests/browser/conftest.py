"""Debian's Chromium, started once a worker, and windows into the running site."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from dev.chromium import ARGUMENTS, find_chromium
from dev.free_ports import LOOPBACK
from tests.browser.whole_house import WholeHouse, house
from tests.catalogsite.server import serving
from tests.environment import clean_environment
from tests.missing_service import missing
from tests.processes.command import manage, run_to_end
from tests.processes.database import sqlite_template

__all__ = ["house"]

# A page of a real server answers within this, also on a machine under load.
PATIENCE_MS = 30_000

OpenWindow = Callable[..., Page]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gunicorn of its own over a filled catalog, on SQLite."""
    with _serving_what(fill="tests.browser.shelf", folder=tmp_path_factory.mktemp("site")) as url:
        yield url


@pytest.fixture(scope="module")
def newsroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of another one, of editors who are busy with everything (dev.newsroom)."""
    with _serving_what(fill="dev.newsroom", folder=tmp_path_factory.mktemp("newsroom")) as url:
        yield url


@contextmanager
def _serving_what(*, fill: str, folder: Path) -> Iterator[str]:
    database = {"DATABASE_URL": f"sqlite:///{folder}/pages.sqlite3", "SECRET_KEY": "k" * 50}
    shutil.copyfile(sqlite_template(), folder / "pages.sqlite3")
    filled = run_to_end(
        manage("shell", "--verbosity=0", f"--command=import {fill} as it; it.fill()"),
        environment=clean_environment() | database,
    )
    assert filled.returncode == 0, filled.stderr
    with serving(folder) as server:
        yield f"http://{LOOPBACK}:{server.port}"


# Not for the whole session: while it lives there is an event loop in this thread, and Django
# refuses its ORM near one, in other tests too.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium; fails in CI where none is installed, and skips at home."""
    path = find_chromium()
    if path is None:
        missing("Chromium (Debian, Ubuntu: apt-get install chromium)")
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Browser, site: str) -> Iterator[OpenWindow]:
    """`window(width=…, dark=…, javascript=…, language=…, zone=…)`: a page of a clean profile.

    The test fails when a page asks another host for anything, breaks the content security
    policy or throws in its script.
    """
    yield from _windows(chromium, site)


@pytest.fixture
def desk(chromium: Browser, house: WholeHouse) -> Iterator[OpenWindow]:
    """The same, in front of the whole house."""
    yield from _windows(chromium, house.address)


@pytest.fixture
def seat(chromium: Browser, newsroom: str) -> Iterator[OpenWindow]:
    """The same, in the newsroom."""
    yield from _windows(chromium, newsroom)


def _windows(chromium: Browser, site: str) -> Iterator[OpenWindow]:
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_window(
        *,
        width: int = 1280,
        dark: bool = False,
        javascript: bool = True,
        language: str = "en",
        zone: str = "Europe/Berlin",
    ) -> Page:
        context = chromium.new_context(
            base_url=site,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
            locale=language,
            timezone_id=zone,
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: _note_strangers(request, site, faults))
        page.on("pageerror", lambda error: faults.append(f"a script failed: {error}"))
        page.on("console", lambda message: _note_policy(message, faults))
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert faults == []


def _note_strangers(request: Any, own: str, faults: list[str]) -> None:
    if not request.url.startswith((own, "data:", "blob:")):
        faults.append(f"a request to another host: {request.url}")


def _note_policy(message: Any, faults: list[str]) -> None:
    if "Content Security Policy" in message.text:
        faults.append(message.text)
