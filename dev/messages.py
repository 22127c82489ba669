"""`make messages`: brings locale/*/LC_MESSAGES/django.po up to date with the code and compiles it.

Done in Python, so that nobody needs GNU gettext; what is compiled is committed for the same
reason. Strings that are new come in untranslated, those that are gone go. Exit 1 where something
is untranslated, with its number.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import polib

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = ("catalogsite", "materials", "messaging", "templates")

# (the one, the many, the context) of a string to translate
Message = tuple[str, str, str]


def main() -> int:
    untranslated = 0
    wanted = messages(PROJECT)
    for path in sorted((PROJECT / "locale").glob("*/LC_MESSAGES/django.po")):
        translations = polib.pofile(str(path), wrapwidth=96)
        _bring_up_to_date(translations, wanted)
        translations.save()
        translations.save_as_mofile(str(path.with_suffix(".mo")))
        missing = [entry for entry in translations if not entry.translated()]
        untranslated += len(missing)
        print(f"{path.relative_to(PROJECT)}: {len(translations)} strings, {len(missing)} to do")
    return 1 if untranslated else 0


def messages(root: Path) -> dict[Message, list[str]]:
    """Every string to translate, with the files (relative to `root`) that say it."""
    found: dict[Message, list[str]] = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".html", ".txt") and "migrations" not in path.parts:
                text = path.read_text(encoding="utf-8")
                name = str(path.relative_to(root))
                for message in _in_code(text) if path.suffix == ".py" else _in_template(text, name):
                    places = found.setdefault(message, [])
                    if name not in places:
                        places.append(name)
    return found


def _bring_up_to_date(translations: polib.POFile, wanted: dict[Message, list[str]]) -> None:
    known = {
        (entry.msgid, entry.msgid_plural or "", entry.msgctxt or ""): entry
        for entry in translations
        if not entry.obsolete
    }
    plurals = int(re.findall(r"nplurals=(\d)", translations.metadata["Plural-Forms"])[0])
    del translations[:]
    for (one, many, context), places in sorted(wanted.items(), key=lambda each: (each[1], each[0])):
        entry = known.get((one, many, context)) or polib.POEntry(
            msgid=one,
            msgid_plural=many,
            msgctxt=context or None,
            msgstr="",
            msgstr_plural=dict.fromkeys(range(plurals), "") if many else {},
        )
        entry.occurrences = [(place, "") for place in places]
        entry.flags = ["python-format"] if "%(" in one else []
        translations.append(entry)


def _in_code(text: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            said = [
                argument.value if isinstance(argument, ast.Constant) else None
                for argument in node.args
            ]
            yield from _message(name.removesuffix("_lazy"), said)


def _in_template(text: str, origin: str) -> Iterator[Message]:
    from django.utils.translation.template import templatize

    for call in _CALL.finditer(templatize(text, origin=origin)):
        yield from _message(call[1], [ast.literal_eval(said) for said in _TEXT.findall(call[2])])


def _message(function: str, said: Sequence[object]) -> Iterator[Message]:
    """The string that a call of this function with these arguments asks for, if it does."""
    places = _ARGUMENTS.get(function)
    if places is None:
        return
    texts = [said[place] if place is not None and place < len(said) else "" for place in places]
    if texts[0] and all(isinstance(text, str) for text in texts):
        one, many, context = map(str, texts)
        yield one, many, context


# Where a function has the one, the many and the context.
_ARGUMENTS: dict[str, tuple[int, int | None, int | None]] = {
    "_": (0, None, None),
    "gettext": (0, None, None),
    "gettext_noop": (0, None, None),
    "ngettext": (0, 1, None),
    "pgettext": (1, None, 0),
    "npgettext": (1, 2, 0),
}

_TEXT = re.compile(r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_CALL = re.compile(
    r"""\b(_|n?p?gettext)\(((?:\s*u?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*,?)+)""", re.DOTALL
)

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "catalogsite.settings")
    sys.exit(main())
