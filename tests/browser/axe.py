"""axe-core (MPL 2.0, as packed by axe-playwright-python) over a page that is open."""

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

_SOURCE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

Options = dict[str, Any]

# Axe would fetch every style sheet once more.
_QUICK: Options = {"resultTypes": ["violations"], "preload": False}

# WCAG 2.2 A and AA, and what axe calls best practice. The size of targets is off by default.
EVERYTHING: Options = {**_QUICK, "rules": {"target-size": {"enabled": True}}}
COLOURS: Options = {**_QUICK, "runOnly": ["color-contrast", "link-in-text-block"]}


def faults(page: Page, options: Options = EVERYTHING) -> list[str]:
    """What axe finds: the rule, the place, and what is wrong there."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_SOURCE)
    # All that passed is not worth its way from there to here.
    violations: list[dict[str, Any]] = page.evaluate(
        "options => axe.run(document, options).then(found => found.violations)", options
    )
    return [
        f"{page.url} {violation['id']}: {node['html'][:160]} — {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]


def faults_everywhere(page: Page, *, wide: int = 1280, narrow: int = 360) -> list[str]:
    """The same on a wide screen by day and on a narrow one by night, which must hold the page."""
    height = 800
    found = faults(page)
    page.set_viewport_size({"width": narrow, "height": height})
    # As the visitor's choice is served; a change of the system's colours takes some frames.
    chosen = page.evaluate("document.documentElement.getAttribute('data-theme')")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    found += faults(page)
    if (width := page.evaluate("document.documentElement.scrollWidth")) > narrow:
        found.append(f"{page.url} is {width} wide on a screen of {narrow}")
    page.set_viewport_size({"width": wide, "height": height})
    page.evaluate(
        "theme => theme === null ? delete document.documentElement.dataset.theme"
        " : document.documentElement.dataset.theme = theme",
        chosen,
    )
    return found
