"""`make screenshots`: pictures of the main pages, into docs/screenshots/.

With an argument those alone whose names begin so (`operator`). A gunicorn of its own over a
database of its own, filled by dev.newsroom; needs no broker. Exit 3 where there is no Chromium.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from dev.chromium import ARGUMENTS, find_chromium
from dev.free_ports import LOOPBACK, free_port

PROJECT = Path(__file__).resolve().parent.parent
PICTURES = PROJECT / "docs" / "screenshots"
PASSWORD = "one for all who are in the pictures"
FILL = f"from dev import newsroom; newsroom.fill(password={PASSWORD!r})"
WIDE, NARROW = (1200, 760), (360, 640)
CONFIGURATION = 3
_START_SECONDS = 60


@dataclass(frozen=True)
class Picture:
    """One page as one visitor sees it."""

    name: str
    path: str
    size: tuple[int, int] = WIDE
    dark: bool = False
    language: str = "en"
    who: str = ""
    full: bool = False


PAGES = (
    Picture("catalog", "/"),
    Picture("catalog-dark", "/?q=queue", dark=True),
    Picture("catalog-narrow-russian", "/", size=NARROW, language="ru"),
    Picture("material", "/materials/article-107/"),
    Picture("tags", "/tags/"),
    Picture("editor-list", "/editor/", who="ada"),
    Picture("editor-draft", "/editor/article-107/edit/", who="ada"),
    Picture("editor-publish-dark", "/editor/article-103/publish/", dark=True, who="ada"),
    Picture("editor-delivery", "/editor/article-109/history/", who="ada"),
    Picture(
        "editor-delivery-narrow-russian",
        "/editor/article-105/history/",
        size=NARROW,
        language="ru",
        who="ada",
        full=True,
    ),
    Picture("editor-schedule", "/editor/article-114/schedule/", who="ada"),
    Picture("operator-front", "/admin/", who="olga", full=True),
    Picture("operator-letters", "/admin/messaging/deadletter/", who="olga"),
    Picture("operator-letter", "/admin/messaging/deadletter/2/change/", who="olga", full=True),
    Picture(
        "operator-letter-narrow-dark",
        "/admin/messaging/deadletter/1/change/",
        size=NARROW,
        dark=True,
        who="olga",
    ),
)


def main() -> int:
    chromium = find_chromium()
    if chromium is None:
        print("Chromium is not installed (Debian, Ubuntu: apt-get install chromium).")
        return CONFIGURATION
    beginning = sys.argv[1] if sys.argv[1:] else ""
    wanted = [picture for picture in PAGES if picture.name.startswith(beginning)]
    with tempfile.TemporaryDirectory(prefix="catalogsite-pictures-") as folder:
        environment = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/pages.sqlite3",
            "SECRET_KEY": "k" * 50,
            "LOG_LEVEL": "ERROR",
        }
        for command in (
            ["manage.py", "migrate", "--verbosity=0"],
            ["manage.py", "shell", "--verbosity=0", f"--command={FILL}"],
        ):
            subprocess.run([sys.executable, *command], cwd=PROJECT, env=environment, check=True)
        with _serving(environment) as address:
            _take(chromium, address, wanted)
    return 0


def _take(chromium: Path, address: str, pictures: Sequence[Picture]) -> None:
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        for picture in pictures:
            width, height = picture.size
            page = browser.new_page(
                base_url=address,
                viewport={"width": width, "height": height},
                color_scheme="dark" if picture.dark else "light",
                locale=picture.language,
            )
            if picture.who:
                _sign_in(page, picture.who)
            page.goto(picture.path)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / f"{picture.name}.png", full_page=picture.full)
            print(f"docs/screenshots/{picture.name}.png")
            page.close()
        browser.close()


def _sign_in(page: Page, who: str) -> None:
    page.goto("/accounts/login/")
    page.locator("#id_username").fill(who)
    page.locator("#id_password").fill(PASSWORD)
    page.locator("main button").click()
    page.wait_for_url(lambda url: "/login/" not in url)


@contextmanager
def _serving(environment: dict[str, str]) -> Iterator[str]:
    port = free_port()
    command = ["-m", "gunicorn", "catalogsite.wsgi", "--workers=1", f"--bind={LOOPBACK}:{port}"]
    process = subprocess.Popen([sys.executable, *command], cwd=PROJECT, env=environment)
    try:
        _await_listening(process, port)
        yield f"http://{LOOPBACK}:{port}"
    finally:
        process.terminate()
        process.wait()


def _await_listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("gunicorn did not start")


if __name__ == "__main__":
    sys.exit(main())
