"""The interface in Russian: complete, compiled, with every plural and every placeholder."""

import gettext
import re
from datetime import UTC, datetime
from pathlib import Path

import polib
import pytest
from django.test import Client

from dev.messages import messages
from tests.environment import PROJECT
from tests.materials.catalog.facts import project_batch, published

pytestmark = pytest.mark.any_database

RUSSIAN = PROJECT / "locale/ru/LC_MESSAGES/django.po"


def entries() -> dict[tuple[str, str, str], polib.POEntry]:
    return {
        (entry.msgid, entry.msgid_plural or "", entry.msgctxt or ""): entry
        for entry in polib.pofile(str(RUSSIAN))
    }


def test_every_string_is_translated() -> None:
    known = entries()

    missing = [
        message
        for message in messages(PROJECT)
        if not (message in known and known[message].translated())
    ]

    assert missing == []


def test_what_is_compiled_is_what_is_written() -> None:
    with RUSSIAN.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)

    for entry in entries().values():
        if not entry.translated():
            continue
        if entry.msgid_plural:
            for number, form in ((1, 0), (3, 1), (5, 2), (11, 2), (21, 0), (112, 2)):
                said = compiled.ngettext(entry.msgid, entry.msgid_plural, number)
                assert said == entry.msgstr_plural[form]
        elif entry.msgctxt:
            assert compiled.pgettext(entry.msgctxt, entry.msgid) == entry.msgstr
        else:
            assert compiled.gettext(entry.msgid) == entry.msgstr


# By name, in braces, or by position: of these every one counts.
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}|%[sd]")


@pytest.mark.parametrize(
    ("original", "said", "agrees"),
    [
        ("%(name)s has %(count)d", "у %(name)s их %(count)d", True),
        ("%(name)s", "%(names)s", False),
        ("%s of %d", "%s", False),
        ("%s of %d", "%s из %s", False),
        ("%d", "", False),
        ("{} of {name}", "{name} из {}", True),
        ("{}", "{", False),
    ],
)
def test_placeholders_that_differ_are_seen(original: str, said: str, agrees: bool) -> None:
    assert (_placeholders(original) == _placeholders(said)) is agrees


def test_a_translation_names_what_the_original_names() -> None:
    for entry in entries().values():
        allowed = [_placeholders(each) for each in (entry.msgid, entry.msgid_plural) if each]
        for said in [entry.msgstr, *entry.msgstr_plural.values()]:
            if said:
                assert _placeholders(said) in allowed, entry.msgid


def _placeholders(text: str) -> list[str]:
    by_position = [each for each in _PLACEHOLDER.findall(text) if each in ("%s", "%d")]
    return by_position + sorted(set(_PLACEHOLDER.findall(text)) - set(by_position))


def test_strings_are_found_in_code_and_templates(tmp_path: Path) -> None:
    for room in ("catalogsite", "materials", "messaging", "templates"):
        (tmp_path / room).mkdir()
    (tmp_path / "materials/a.py").write_text(
        "_('one')\nngettext('a', 'b', n)\npgettext('c', 'd')\ngettext(name)\n"
    )
    (tmp_path / "templates/a.html").write_text(
        '{% load i18n %}{% translate "it\'s" %}{{ x|default:_("y") }}'
        "{% blocktranslate count n=n trimmed %}\n {{ n }} m {% plural %}{{ n }} ms "
        "{% endblocktranslate %}"
    )

    found = messages(tmp_path)

    assert set(found) == {
        ("one", "", ""),
        ("a", "b", ""),
        ("d", "", "c"),
        ("it's", "", ""),
        ("y", "", ""),
        ("%(n)s m", "%(n)s ms", ""),
    }


@pytest.mark.django_db
def test_a_russian_reader_gets_plurals_dates_and_words(client: Client) -> None:
    may = datetime(2026, 5, 9, tzinfo=UTC)
    project_batch([published(f"m{n}", tags=["x"], occurred_at=may) for n in range(3)])

    page = client.get("/?tag=x", headers={"Accept-Language": "ru"}).content.decode()

    assert '<html lang="ru"' in page
    assert "3 материала" in page
    assert "9 мая 2026" in page
    assert "Каталог" in page
