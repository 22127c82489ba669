"""How long something is, in one short word for a table."""

from django.utils.translation import gettext as _


def span(seconds: float) -> str:
    """In the largest unit that fits: 850 ms, 12 s, 4 min, 3 h, 12 d."""
    if seconds < 0:
        return _("%d s") % 0
    if 0 < seconds < 1:
        return _("%d ms") % round(seconds * 1000)
    if seconds < 10 and seconds != int(seconds):
        return _("%.1f s") % seconds
    for least, size, form in (
        (48 * 3600, 86_400, _("%d d")),
        (2 * 3600, 3600, _("%d h")),
        (120, 60, _("%d min")),
    ):
        if seconds >= least:
            return form % (seconds // size)
    return _("%d s") % seconds
