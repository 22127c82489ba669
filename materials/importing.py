"""A folder of Markdown files made into drafts, one transaction a file.

Running it again changes nothing: a file that says what the draft says is left alone, and what
is withdrawn stays so until its file changes.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from materials import actions, markdown_files
from materials.locking import one_transaction
from materials.markdown_files import FileFault, MaterialFile
from materials.models import Material, is_material_id
from materials.patience import patiently
from materials.refusals import ActionRefused


class Change(StrEnum):
    """What became of one file."""

    CREATED = "created"
    EDITED = "edited"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Report:
    """One file's result; `fault` says why it failed."""

    file_name: str
    change: Change
    published: bool = False
    fault: str = ""
    line: int | None = None


def import_folder(folder: Path, *, publish: bool, actor: str) -> Iterator[Report]:
    """Take in the folder's files by name, one report each; a bad one does not stop the rest.

    Raises OSError where the folder itself cannot be read, and the database's errors where it
    is away; what was reported by then is committed.
    """
    first_file: dict[str, str] = {}
    for file_name in markdown_files.names(folder):
        shown = os.fsencode(file_name).decode("utf-8", "backslashreplace")
        try:
            file = markdown_files.read(folder / file_name)
            first = first_file.setdefault(file.material_id, shown)
            if first != shown:
                raise FileFault(f"the id {file.material_id!r} is taken by {first}")
            change, published = patiently(partial(_take_in, file, publish=publish, actor=actor))
        except FileFault as fault:
            yield Report(shown, Change.FAILED, fault=str(fault), line=fault.line)
        except ActionRefused as refusal:
            yield Report(shown, Change.FAILED, fault=str(refusal))
        else:
            yield Report(shown, change, published)


def _take_in(file: MaterialFile, *, publish: bool, actor: str) -> tuple[Change, bool]:
    before = _find(file.material_id)
    if before is None:
        change, write = Change.CREATED, actions.create
    elif before.content != file.content:
        change, write = Change.EDITED, actions.edit
    elif publish and _is_unpublished(before):
        change, write = Change.UNCHANGED, actions.edit
    else:
        return Change.UNCHANGED, False
    content = file.content
    with one_transaction():
        write(
            file.material_id,
            title=content.title,
            summary=content.summary,
            body=content.body,
            language=content.language,
            tags=content.tags,
            actor=actor,
        )
        if publish:
            actions.publish(file.material_id, actor=actor)
    return change, publish


def _find(material_id: str) -> Material | None:
    if not is_material_id(material_id):
        return None  # create() says what is wrong with it
    return Material.objects.filter(material_id=material_id).first()


def _is_unpublished(material: Material) -> bool:
    return material.state != Material.State.WITHDRAWN and material.differs
