"""Reading one variable at a time, strictly: the tools that catalogsite.settings reads with.

django-environ finds the values (environment first, then `.env`) and takes database URLs
apart; what it would quietly bend is refused here. Every refusal names the variable and shows
nothing of its value.
"""

import io
import re
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = ("true", "yes", "on", "1")
FALSE_WORDS = ("false", "no", "off", "0")


class SettingError(ImproperlyConfigured):
    """A setting is wrong: the process ends with exit 2 and this one line."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"Wrong setting: {name} {problem}.")
        self.name = name


class Environment:
    """The variables of the process over those of `.env`, read through checks.

    The process's own environment is not changed, so what `.env` holds is not inherited by
    child processes and does not show in a debug page.
    """

    def __init__(self, process: Mapping[str, str], *, dotenv: Path) -> None:
        self._values: MutableMapping[str, str] = dict(process)
        if dotenv.exists() or dotenv.is_symlink():
            self._read_dotenv(dotenv)

    def text(self, name: str, *, default: str | None = None) -> str:
        """The value as it stands; raises SettingError where it is missing, empty or unclean."""
        value = self._values.get(name, default)
        if value is None:
            raise SettingError(name, "is missing")
        if not value.strip():
            raise SettingError(name, "is empty; give it a value or leave it out")
        # Control characters and undecodable bytes (lone surrogates) serve no setting.
        if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", value):
            raise SettingError(name, "has a control character or a byte that is no UTF-8 in it")
        return value

    def is_set(self, name: str) -> bool:
        return name in self._values

    def boolean(self, name: str, *, default: bool) -> bool:
        word = self.text(name, default=str(default)).lower()
        if word not in TRUE_WORDS + FALSE_WORDS:
            raise SettingError(name, "must be true or false")
        return word in TRUE_WORDS

    def integer(self, name: str, *, default: int, least: int, most: int) -> int:
        value = self.text(name, default=str(default))
        if not re.fullmatch(r"[0-9]{1,18}", value) or not least <= int(value) <= most:
            raise SettingError(name, f"must be a whole number from {least} to {most}")
        return int(value)

    def choice(
        self, name: str, *, default: str, choices: Sequence[str], any_case: bool = False
    ) -> str:
        value = self.text(name, default=default)
        value = value.upper() if any_case else value
        if value not in choices:
            raise SettingError(name, f"must be one of: {', '.join(choices)}")
        return value

    def matching(self, name: str, *, default: str, pattern: str, says: str) -> str:
        value = self.text(name, default=default)
        if not re.fullmatch(pattern, value):
            raise SettingError(name, says)
        return value

    def items(
        self,
        name: str,
        *,
        default: Sequence[str],
        pattern: str,
        says: str,
    ) -> list[str]:
        """A comma-separated list; every item must match. Blanks around items are dropped."""
        if not self.is_set(name):
            return list(default)
        found = [item.strip() for item in self.text(name).split(",")]
        if not all(re.fullmatch(pattern, item) for item in found):
            raise SettingError(name, says)
        return found

    def _read_dotenv(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise SettingError(path.name, "is not UTF-8") from None
        except OSError as error:
            raise SettingError(path.name, f"cannot be read: {error.strerror}") from error
        lines = [line for line in text.splitlines() if line.strip()]
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                _check_dotenv_line(line, number=number, file=path.name)
        # One class for one file: ENVIRON is what django-environ reads into.
        reader: Any = type("DotEnv", (environ.Env,), {"ENVIRON": self._values})
        reader.read_env(io.StringIO("\n".join(lines)))


def _check_dotenv_line(line: str, *, number: int, file: str) -> None:
    if line.startswith("#"):
        return
    assignment = re.fullmatch(r"(?:export )?([A-Za-z_][A-Za-z_0-9]*)=(.*)", line)
    if not assignment:
        raise SettingError(file, f"has a line {number} that is neither NAME=value nor a # comment")
    name, value = assignment.groups()
    quotes = value[:1] if value[:1] in ("'", '"') else ""
    if quotes and (len(value) < 2 or not value.endswith(quotes)):
        raise SettingError(file, f"has a line {number} ({name}) whose quotes do not close")
