"""The cells of the admin's lists, each with the name of its column for narrow screens."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

register = template.Library()


@register.filter
def named_by(cells: Iterable[SafeString], headers: Iterable[Mapping[str, Any]]) -> list[SafeString]:
    """The same cells; the one of the checkboxes needs no name."""
    return [_named(cell, header["text"]) for cell, header in zip(cells, headers, strict=True)]


def _named(cell: SafeString, name: Any) -> SafeString:
    if isinstance(name, SafeString) or not cell.startswith(("<td", "<th")):
        return cell
    attribute = format_html(' data-name="{}"', capfirst(name))
    return mark_safe(f"{cell[:3]}{attribute}{cell[3:]}")
