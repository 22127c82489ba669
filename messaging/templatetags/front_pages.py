"""`{% front_page as found %}`: what the admin's first page opens with."""

from typing import Any

from django import template

from messaging.console import front_page as console
from messaging.console.front_page import FrontPage

register = template.Library()


@register.simple_tag(takes_context=True)
def front_page(context: dict[str, Any]) -> FrontPage | None:
    return console.front_page(context["request"])
