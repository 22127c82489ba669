"""What readers would see of a draft, drawn by the very renderer of their pages."""

from dataclasses import dataclass

from django.utils.safestring import SafeString

from materials.catalog import rendering
from materials.content import BODY_LIMIT, SUMMARY_LIMIT, TITLE_LIMIT


@dataclass(frozen=True)
class Drawn:
    """Title and summary as text, the body as HTML."""

    title: str
    summary: str
    text: SafeString


def draw(*, title: str, summary: str, body: str) -> Drawn:
    """Also of what is longer than any draft: the beginning of it then."""
    return Drawn(
        title=title[: 2 * TITLE_LIMIT],
        summary=summary[: 2 * SUMMARY_LIMIT],
        text=rendering.render(body[:BODY_LIMIT]),
    )
