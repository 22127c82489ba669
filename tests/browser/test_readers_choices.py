"""Language and colours as a person chooses them, without JavaScript."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow

pytestmark = pytest.mark.any_database

DARK, LIGHT = "rgb(23, 24, 27)", "rgb(251, 250, 246)"


def test_dark_and_back_without_javascript(window: OpenWindow) -> None:
    page = window(javascript=False)
    page.goto("/?tag=sample")

    page.get_by_role("button", name="Dark").click()

    expect(page).to_have_url("/?tag=sample")
    expect(page.locator("body")).to_have_css("background-color", DARK)
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Light").click()
    expect(page.locator("body")).to_have_css("background-color", LIGHT)


def test_the_system_decides_until_somebody_chooses(window: OpenWindow) -> None:
    page = window(dark=True)

    page.goto("/")

    expect(page.locator("body")).to_have_css("background-color", DARK)
    page.get_by_role("button", name="Light").click()
    expect(page.locator("body")).to_have_css("background-color", LIGHT)


def test_russian_by_the_browser_and_english_by_choice(window: OpenWindow) -> None:
    page = window(javascript=False, language="ru-RU")
    page.goto("/materials/everything/")

    expect(page.get_by_role("link", name="Все материалы")).to_be_visible()
    page.get_by_role("button", name="English").click()

    expect(page).to_have_url("/materials/everything/")
    expect(page.get_by_role("link", name="All materials")).to_be_visible()


def test_a_reader_without_javascript_searches_reads_and_turns_pages(window: OpenWindow) -> None:
    page = window(javascript=False)
    page.goto("/")

    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    page.get_by_role("searchbox").fill("headings")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status")).to_have_text("1 material")
    page.get_by_role("link", name="Everything a text can hold").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Everything a text can hold")
    expect(page.get_by_role("table")).to_be_visible()
