"""Times as the pages say them."""

from datetime import timedelta

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

register = template.Library()


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
