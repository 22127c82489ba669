"""What an editor does in a browser, in the words of the pages."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.whole_house import PASSWORD

# A way through relay, broker and consumers, on a machine that does much else.
ARRIVAL_MS = 120_000


def sign_in(page: Page, name: str, path: str = "/editor/") -> None:
    """Through the login, to the page that was wanted."""
    page.goto(path)
    page.locator("#id_username").fill(name)
    page.locator("#id_password").fill(PASSWORD)
    page.locator("main").get_by_role("button").click()
    page.wait_for_url(lambda url: "/accounts/login/" not in url)


def write(page: Page, material_id: str, *, title: str, text: str = "Text.", tags: str = "") -> None:
    """A new material, typed and not yet saved."""
    page.goto("/editor/new/")
    page.get_by_label("Id", exact=True).fill(material_id)
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Tags", exact=True).fill(tags)


def publish(page: Page, material_id: str, *, title: str, text: str = "Text.") -> None:
    """A new material, written and published; ends on its history."""
    write(page, material_id, title=title, text=text)
    page.get_by_role("button", name="Save, then publish…").click()
    page.get_by_role("button", name=f"Publish “{title}” as revision 1").click()
    expect(page.get_by_role("status").first).to_have_text(f"“{title}” is published (revision 1).")


def journey(page: Page, number: int) -> Locator:
    """The delivery line of one revision, on a page of the history."""
    return page.locator(f"#revision-{number} .journey")


def station(page: Page, number: int, name: str) -> Locator:
    return journey(page, number).locator(".station").filter(has=page.get_by_text(name, exact=True))


def watch_arrive(page: Page, number: int) -> None:
    """The line settles by itself: the page stays, and asks no more."""
    expect(journey(page, number)).to_be_visible()
    page.evaluate("window.untouched = true")
    expect(journey(page, number).locator(".station.settled")).to_have_count(4, timeout=ARRIVAL_MS)
    expect(journey(page, number)).not_to_have_attribute("hx-get", re.compile(""))
    assert page.evaluate("window.untouched") is True
