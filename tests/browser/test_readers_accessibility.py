"""The readers' pages for everybody: axe-core, narrow screens, keyboard alone, print."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser import axe
from tests.browser.conftest import OpenWindow
from tests.browser.keyboard import assert_visible_focus, focused, tab_to

pytestmark = pytest.mark.any_database

PAGES = {
    "/": 200,
    "/?q=note&tag=sample": 200,
    "/?q=nothing-of-that-name": 200,
    "/?page=2": 200,
    "/tags/": 200,
    "/languages/": 200,
    "/materials/everything/": 200,
    "/materials/long-word/": 200,
    "/materials/unknown/": 404,
    "/materials/gone/": 410,
    "/no/such/page": 404,
    "/accounts/login/": 200,
}


def visit(page: Page, path: str) -> None:
    response = page.goto(path)
    assert response is not None
    assert response.status == PAGES[path]


@pytest.mark.parametrize(
    ("look", "rules"),
    [
        ({}, axe.EVERYTHING),
        ({"width": 360, "language": "ru"}, axe.EVERYTHING),
        ({"dark": True}, axe.COLOURS),
    ],
    ids=["wide", "narrow, in Russian", "dark"],
)
def test_axe_finds_nothing_on_any_page(
    window: OpenWindow, look: dict[str, Any], rules: axe.Options
) -> None:
    page = window(**look)

    found = []
    for path in PAGES:
        visit(page, path)
        found += axe.faults(page, rules)

    assert found == []


def test_no_page_is_wider_than_a_narrow_screen(window: OpenWindow) -> None:
    page = window(width=360)

    for path in PAGES:
        visit(page, path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, path


def test_the_keyboard_alone_reads_searches_and_signs_in(window: OpenWindow) -> None:
    page = window()
    visit(page, "/")

    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    tab_to(page, "q")
    page.keyboard.type("everything")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=everything")
    tab_to(page, "Everything a text can hold")
    page.keyboard.press("Enter")
    page.wait_for_url("**/materials/everything/")
    tab_to(page, "Sign in", backwards=True)
    page.keyboard.press("Enter")
    page.wait_for_url("**/accounts/login/**")


def test_whoever_tabs_sees_where_they_are(window: OpenWindow) -> None:
    page = window()
    visit(page, "/materials/everything/")

    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert_visible_focus(page)


def test_print_leaves_out_what_paper_cannot_do(window: OpenWindow) -> None:
    page = window(dark=True)
    visit(page, "/materials/everything/")
    page.emulate_media(media="print")

    assert page.locator("h1").is_visible()
    assert not page.locator(".masthead nav").is_visible()
    assert not page.locator(".colophon").is_visible()
    colours = "(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))"
    assert page.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    muted = page.evaluate("getComputedStyle(document.querySelector('.meta')).color")
    assert muted == "rgb(92, 88, 80)"
