"""A Markdown file with YAML front matter, read with suspicion: bytes in, a draft or a fault out.

Front matter is text for people, so every plain value is text (`language: no` is Norwegian,
`title: 2024` a title), anchors and aliases are refused (a few bytes of them can grow without
end), and a key may be given once.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from materials.content import Content

# 200 000 characters of four bytes each, and room for the front matter.
MAX_FILE_BYTES = 1024 * 1024
MAX_FRONT_MATTER_CHARACTERS = 32 * 1024
_FENCE = "---"


class FileFault(Exception):
    """Why a file cannot be read as a material; `line` counts from 1, where it is known."""

    def __init__(self, fault: str, *, line: int | None = None) -> None:
        super().__init__(fault)
        self.line = line


@dataclass(frozen=True, slots=True)
class MaterialFile:
    """What a file says."""

    material_id: str
    content: Content


def names(folder: Path) -> list[str]:
    """The folder's Markdown files by name, sorted; hidden ones and all others are passed over."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.name
            for entry in entries
            if entry.name.lower().endswith(".md")
            and not entry.name.startswith(".")
            and not entry.is_dir(follow_symlinks=False)
        )


def read(path: Path) -> MaterialFile:
    """The material in this file. Raises FileFault and nothing else."""
    text = _text(path)
    front_matter, body = _split(text)
    fields = _fields(front_matter)
    return MaterialFile(
        material_id=_one(fields, "id") or path.stem,
        content=Content(
            title=_one(fields, "title"),
            summary=_one(fields, "summary"),
            body=body,
            language=_one(fields, "language"),
            tags=tuple(_many(fields, "tags")),
        ).tidied(),
    )


def _text(path: Path) -> str:
    try:
        # O_NONBLOCK: opening a named pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise FileFault("a symbolic link is not followed") from error
        raise FileFault(f"cannot be opened: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileFault("not a regular file")
        try:
            data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise FileFault(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise FileFault(f"larger than {MAX_FILE_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFault("not UTF-8", line=line) from error


def _split(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FileFault("does not begin with front matter (a line of three hyphens)", line=1)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            front_matter = "\n".join(lines[1:number])
            if len(front_matter) > MAX_FRONT_MATTER_CHARACTERS:
                raise FileFault("the front matter is too long", line=1)
            return front_matter, "\n".join(lines[number + 1 :]).strip("\n")
    raise FileFault("the front matter that begins here has no closing line of hyphens", line=1)


def _fields(front_matter: str) -> dict[str, Any]:
    try:
        fields = _load(front_matter)
    except yaml.MarkedYAMLError as error:
        # The first line of the file is the fence, and marks count from 0.
        line = error.problem_mark.line + 2 if error.problem_mark else None
        raise FileFault(f"front matter: {error.problem or error.context}", line=line) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileFault("front matter: not YAML that can be read here") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise FileFault("front matter: not a list of `name: value` lines", line=2)
    return fields


def _load(front_matter: str) -> Any:
    if _QuickLoader is not None and not _READ_DIFFERENTLY.search(front_matter):
        with suppress(yaml.YAMLError, ValueError, RecursionError):
            return yaml.load(front_matter, Loader=_QuickLoader)
        # The other one says where and why, in the same words on every machine.
    return yaml.load(front_matter, Loader=_PlainLoader)


def _one(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FileFault(f"front matter: `{name}` is not one text")
    return value.strip()


def _many(fields: dict[str, Any], name: str) -> Iterator[str]:
    value = fields.get(name)
    if value is None:
        return
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FileFault(f"front matter: `{name}` is not a list of texts")
    yield from (item.strip() for item in value)


class _Plain(yaml.composer.Composer, yaml.constructor.SafeConstructor):
    """Plain values stay text; no anchors, no aliases, no key twice."""

    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] == "tag:yaml.org,2002:null"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[attr-defined]  # of the parser beside it
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.composer.ComposerError(
                problem="anchors and aliases are not taken", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen if isinstance(key, yaml.ScalarNode) else True:
                raise yaml.constructor.ConstructorError(
                    problem="a name is given twice, or is not one word",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _PlainLoader(_Plain, yaml.SafeLoader):
    """Written in Python."""


# What libyaml takes and PyYAML's own scanner does not: tabs, tags, some heads of blocks.
_READ_DIFFERENTLY = re.compile(r"[\t!|>]")
_QuickLoader: type[Any] | None = None
if yaml.__with_libyaml__:
    _Libyaml: Any = yaml.cyaml.CParser  # type: ignore[attr-defined]  # its stubs know it not

    class _LibyamlLoader(_Plain, _Libyaml, yaml.resolver.Resolver):  # type: ignore[misc]
        """Scanned by libyaml, six times as fast."""

        def __init__(self, stream: str) -> None:
            _Libyaml.__init__(self, stream)
            yaml.composer.Composer.__init__(self)
            yaml.constructor.SafeConstructor.__init__(self)
            yaml.resolver.Resolver.__init__(self)

    _QuickLoader = _LibyamlLoader
