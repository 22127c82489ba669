"""docker-compose.yml read as Compose reads it: variables filled in, `$$` undone."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.environment import PROJECT


def read_compose(settings: Mapping[str, str]) -> dict[str, Any]:
    """The whole file, with ${NAME:-value} from these settings or by the value.

    A variable of a service without any value is that of the settings, or is none.
    """
    text = (PROJECT / "docker-compose.yml").read_text(encoding="utf-8")
    document: dict[str, Any] = _fill(yaml.safe_load(text), settings)
    for service in document["services"].values():
        passed_on = service.get("environment", {})
        service["environment"] = {
            name: settings[name] if value is None else value
            for name, value in passed_on.items()
            if value is not None or name in settings
        }
    return document


def _fill(value: Any, settings: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(item, settings) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, settings) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(
        r"\$(?:\$|\{(?P<name>\w+):-(?P<default>[^}]*)\})",
        lambda found: _value(found, settings),
        value,
    )


def _value(found: "re.Match[str]", settings: Mapping[str, str]) -> str:
    if found["name"] is None:
        return "$"
    return settings.get(found["name"]) or found["default"]
