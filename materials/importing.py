"""A folder of Markdown files made into drafts: new ones by the hundred, the others one by one.

Running it again changes nothing: a file that says what the draft says is left alone, and what
is withdrawn stays so until its file changes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from django.db import IntegrityError

from materials import actions, markdown_files, newcomers
from materials.locking import one_transaction
from materials.markdown_files import FileFault, MaterialFile
from materials.models import Material, is_material_id
from materials.patience import patiently
from materials.refusals import ActionRefused, NothingChanged, TryAgain

# What one transaction may hold: others wait for its end on SQLite.
GROUP_FILES = 100
GROUP_CHARACTERS = 500_000


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


def import_folder(
    folder: Path, *, publish: bool, actor: str, stopping: Callable[[], bool] = lambda: False
) -> Iterator[Report]:
    """Take in the folder's files by name, one report each; a bad one does not stop the rest.

    Ends early when `stopping`, with a report of everything that is done. Raises OSError where
    the folder itself cannot be read, and the database's errors where it is away; what was
    reported by then is committed.
    """
    for group in _groups(_read(folder)):
        yield from _take_in_together(group, publish=publish, actor=actor)
        if stopping():
            return


_File = tuple[str, MaterialFile | FileFault]  # its name to be shown, and what it holds


def _read(folder: Path) -> Iterator[_File]:
    first_file: dict[str, str] = {}
    for file_name in markdown_files.names(folder):
        shown = os.fsencode(file_name).decode("utf-8", "backslashreplace")
        try:
            file = markdown_files.read(folder / file_name)
        except FileFault as fault:
            yield shown, fault
            continue
        first = first_file.setdefault(file.material_id, shown)
        if first == shown:
            yield shown, file
        else:
            yield shown, FileFault(f"the id {file.material_id!r} is taken by {first}")


def _groups(files: Iterator[_File]) -> Iterator[list[_File]]:
    group: list[_File] = []
    characters = 0
    for file in files:
        group.append(file)
        characters += len(file[1].content.body) if isinstance(file[1], MaterialFile) else 0
        if len(group) >= GROUP_FILES or characters >= GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _take_in_together(group: Sequence[_File], *, publish: bool, actor: str) -> Iterator[Report]:
    files = [file for _, file in group if isinstance(file, MaterialFile)]
    known = _known(files)
    new = [file for file in files if file.material_id not in known]
    refused = _create(new, publish=publish, actor=actor)
    created = {file.material_id for file in new} - refused.keys() if refused is not None else set()
    for shown, file in group:
        if isinstance(file, FileFault):
            yield Report(shown, Change.FAILED, fault=str(file), line=file.line)
        elif file.material_id in created:
            yield Report(shown, Change.CREATED, publish)
        elif refused is not None and file.material_id in refused:
            yield Report(shown, Change.FAILED, fault=str(refused[file.material_id]))
        elif not _has_work(file, known.get(file.material_id), publish=publish):
            yield Report(shown, Change.UNCHANGED)
        else:
            yield _take_in_alone(shown, file, publish=publish, actor=actor)


def _known(files: Sequence[MaterialFile]) -> dict[str, Material]:
    ids = [file.material_id for file in files if is_material_id(file.material_id)]
    return {each.material_id: each for each in Material.objects.filter(material_id__in=ids)}


def _create(
    new: Sequence[MaterialFile], *, publish: bool, actor: str
) -> dict[str, ActionRefused] | None:
    """What is refused of them, by material id; None where they have to be taken one by one."""
    drafts = [(file.material_id, file.content) for file in new]
    try:
        return {**newcomers.create_all(drafts, actor=actor, publish=publish)}
    except (IntegrityError, TryAgain):
        return None  # Somebody made one of them meanwhile, or the database was busy.


def _has_work(file: MaterialFile, before: Material | None, *, publish: bool) -> bool:
    if before is None or before.content != file.content:
        return True
    return publish and _is_unpublished(before)


def _take_in_alone(shown: str, file: MaterialFile, *, publish: bool, actor: str) -> Report:
    try:
        change, published = patiently(partial(_take_in, file, publish=publish, actor=actor))
    except ActionRefused as refusal:
        return Report(shown, Change.FAILED, fault=str(refusal))
    return Report(shown, change, published)


def _take_in(file: MaterialFile, *, publish: bool, actor: str) -> tuple[Change, bool]:
    before = _find(file.material_id)
    if before is None:
        change, write = Change.CREATED, actions.create
    elif not _has_work(file, before, publish=publish):
        return Change.UNCHANGED, False
    else:
        change = Change.UNCHANGED if before.content == file.content else Change.EDITED
        write = actions.edit
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
            try:
                actions.publish(file.material_id, actor=actor, bulk=True)
            except NothingChanged:
                return change, False  # The file says what is public; only the draft did not.
    return change, publish


def _find(material_id: str) -> Material | None:
    if not is_material_id(material_id):
        return None  # create() says what is wrong with it
    return Material.objects.filter(material_id=material_id).first()


def _is_unpublished(material: Material) -> bool:
    return material.state != Material.State.WITHDRAWN and material.differs
