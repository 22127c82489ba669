"""The wire format as a JSON Schema (2020-12), for those who produce or read events elsewhere."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from messaging.event.fields import Envelope


def render(types: Mapping[tuple[str, int], type[Any]]) -> str:
    """The schema of all events of these types, as the text of a file; the same every time."""
    names = sorted(types)
    envelope_of: Any = Envelope
    references, definitions = msgspec.json.schema_components(
        [envelope_of[types[name]] for name in names],
        ref_template="#/$defs/{name}",
    )
    for (event_type, version), reference in zip(names, references, strict=True):
        envelope = definitions[reference["$ref"].rpartition("/")[2]]
        envelope["title"] = f"{event_type}, schemaVersion {version}"
        del envelope["description"]
        envelope["properties"]["type"] = {"const": event_type}
        envelope["properties"]["schemaVersion"] = {"const": version}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Event",
        "description": _DESCRIPTION,
        "oneOf": references,
        "$defs": _as_on_the_wire(definitions),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


_DESCRIPTION = (
    "One AMQP body: a JSON object in UTF-8 without a byte-order mark, of at most 262144 bytes and "
    "32 levels. Unknown fields are accepted and kept. Stricter than a schema can say: no key "
    "twice, no lone surrogate or U+0000, no number beyond a double, and an integer is spelt as "
    "one (3.0 is refused)."
)


def _as_on_the_wire(node: Any) -> Any:
    """Without what is true of our types alone: null for an absent field, and Python's regex end."""
    if isinstance(node, list):
        return [_as_on_the_wire(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {name: _as_on_the_wire(item) for name, item in node.items()}
    if "anyOf" in result:
        (present,) = [option for option in result.pop("anyOf") if option != {"type": "null"}]
        result = present | result
    if result.get("default", ...) in (None, (), []):
        del result["default"]
    if isinstance(result.get("pattern"), str):
        result["pattern"] = result["pattern"].removesuffix(r"(?!\n)")
    if result.get("type") == "object":
        result["additionalProperties"] = True
    return result
