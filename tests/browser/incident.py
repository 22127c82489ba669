"""An incident to be walked through: the whole house at work, a consumer that fails, an operator.

Real processes on the run's database and broker; the operator is no superuser.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Page

from dev.free_ports import LOOPBACK
from tests.browser.conftest import PATIENCE_MS
from tests.catalogsite.server import serving
from tests.processes.command import Command
from tests.processes.harness import Run

NAME, PASSWORD = "olga", "a password of one incident"
WIDE = 1280


class House:
    """Every process of the site; `catalog` is the one that can be mended."""

    def __init__(self, run: Run, address: str, *, failing: str) -> None:
        self.address = address
        self._run = run
        for command in (
            ("relay_outbox",),
            ("consume", "audit"),
            ("collect_dead_letters",),
            ("carry_out_batches",),
        ):
            run(*command)
        self.catalog: Command = run("consume", "catalog", SIMULATE_TEMPORARY=failing)

    def mend_catalog(self) -> None:
        """The cause is gone: its consumer starts anew without it."""
        self.catalog.terminate()
        self.catalog = self._run("consume", "catalog")


@contextmanager
def site_at_work(run: Run, folder: Path, *, failing: str) -> Iterator[House]:
    """All processes at work; those materials fail in the catalog, temporarily."""
    with serving(folder, **run.environment) as server:
        yield House(run, f"http://{LOOPBACK}:{server.port}", failing=failing)


def make_operator() -> None:
    """Somebody of the Operators, with a password that gunicorn's own hasher knows."""
    user = User(username=NAME, is_staff=True)
    user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
    user.save()
    user.groups.add(Group.objects.get(name="Operators"))


@contextmanager
def operator_window(chromium: Browser, address: str, *, language: str = "en") -> Iterator[Page]:
    """The operator's browser, signed in. Fails where a page's script throws, or its policy is
    broken."""
    faults: list[str] = []
    context = chromium.new_context(
        base_url=address,
        viewport={"width": WIDE, "height": 900},
        color_scheme="light",
        locale=language,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(f"a script failed: {error}"))
    page.on(
        "console",
        lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None,
    )
    page.goto("/admin/")
    page.locator("[name=username]").fill(NAME)
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("[type=submit]").last.click()
    page.wait_for_url("**/admin/")
    yield page
    context.close()
    assert faults == []
