"""Why a plan failed, in the language of whoever reads it.

A process without a reader keeps the sentence (`materials.schedules`), so it is kept in English and
found again here, with its values. One that is not known stays as it was kept.
"""

import re

from django.utils.translation import gettext, gettext_noop

# As `materials.actions` and `materials.schedules` say them.
_SENTENCES = (
    gettext_noop("“%(title)s” is published as it stands (revision %(revision)d)."),
    gettext_noop("“%s” is withdrawn already."),
    gettext_noop("“%s” was never published: it is a draft."),
    gettext_noop("%s has no right to do this any more."),
    gettext_noop("%s changed the draft after this was planned and has no right to publish it."),
    gettext_noop("This failed each time it was tried, at last with: %s"),
)
_VALUE = re.compile(r"%(?:\\\((?P<name>\w+)\\\))?(?P<kind>[sd])")


def translated(sentence: str) -> str:
    """The sentence that was kept, in the language that is on now."""
    for known in _SENTENCES:
        if found := _pattern(known).fullmatch(sentence):
            named = {
                name: int(value) if name == "revision" else value
                for name, value in found.groupdict().items()
            }
            return gettext(known) % (named or found.groups())
    return sentence


def _pattern(sentence: str) -> re.Pattern[str]:
    def value(found: re.Match[str]) -> str:
        what = r"\d+" if found["kind"] == "d" else ".*"
        return f"(?P<{found['name']}>{what})" if found["name"] else f"({what})"

    return re.compile(_VALUE.sub(value, re.escape(sentence)), re.DOTALL)
