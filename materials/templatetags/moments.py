"""Times as the pages say them."""

from datetime import datetime, timedelta

from django import template
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

register = template.Library()


@register.simple_tag
def moment(at: datetime) -> str:
    """When something was, to the minute; to the microsecond for programs and in its title."""
    here = localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        here.isoformat(),
        here.strftime("%Y-%m-%d %H:%M:%S.%f %Z"),
        date_format(here, _("j M Y, H:i")),
    )


@register.filter
def took(duration: timedelta | None) -> str:
    """How long something took, as short as it is worth saying: `40 ms`, `1.2 s`, `3 min`."""
    if duration is None:
        return ""
    seconds = duration.total_seconds()
    if seconds < 1:
        return _("%d ms") % round(seconds * 1000)
    if seconds < 60:
        return _("%s s") % number_format(seconds, 1)
    if seconds < 3600:
        return _("%d min") % (seconds // 60)
    if seconds < 48 * 3600:
        return _("%d h") % (seconds // 3600)
    return _("%d d") % (seconds // 86400)
