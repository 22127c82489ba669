"""A page by the keyboard alone: going from stop to stop, and seeing where one is."""

from playwright.sync_api import Page

from tests.eventually import eventually

_MOST_STOPS = 120

_FAULT = """() => {
  const element = document.activeElement;
  if (element === document.body) return "";
  const style = getComputedStyle(element);
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return "no outline";
  // A busy browser may put this off; what counts is what would then cover it.
  element.scrollIntoView({ block: "nearest" });
  const box = element.getBoundingClientRect();
  const points = [[0.5, 0.5], [0.02, 0.5], [0.98, 0.5], [0.5, 0.05], [0.5, 0.95]];
  const tops = points.map(([x, y]) =>
    document.elementFromPoint(box.x + x * box.width, box.y + y * box.height));
  if (tops.some((top) => top && (element.contains(top) || top.contains(element)))) return "";
  return `at ${box.x} ${box.y} of ${scrollY}, behind ${tops.map((top) => top?.outerHTML)}`;
}"""


def focused(page: Page) -> str:
    """The text of the button or link that has the focus, or the name of the field."""
    text: str = page.evaluate(
        "(e => e.innerText || e.getAttribute('name') || e.tagName)(document.activeElement)"
    )
    return text.strip()


def tab_to(page: Page, wanted: str, *, backwards: bool = False) -> None:
    """Press Tab until that is reached; every stop on the way must be visible as one."""
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        assert_visible_focus(page)
        if focused(page) == wanted:
            return
    raise AssertionError(f"the keyboard does not reach {wanted}")


def assert_visible_focus(page: Page) -> None:
    """What has the focus has an outline, and is not wholly behind something else."""

    def is_seen() -> bool:
        fault = page.evaluate(_FAULT)
        assert not fault, f"{focused(page)}: {fault}"
        return True

    eventually(is_seen, 5, what="a visible focus")
