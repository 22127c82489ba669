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
    page.evaluate(_SOURCE)
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url} {violation['id']}: {node['html'][:160]} — {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
