"""`import_materials DIR`: a folder of Markdown files becomes drafts, or published materials."""

import argparse
import os
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from materials.importing import Change, import_folder
from materials.management.actor import add_actor
from materials.management.ending import database_faults_told, stop_signals
from messaging.running.exit_codes import FAILED


class Command(BaseCommand):
    help = (
        "Take in the Markdown files of a folder (not of its subfolders). Each begins with YAML "
        "front matter: title, and optionally id (else the file's name), summary, tags, language. "
        "A file becomes a draft; one that says what the draft says already is left alone. "
        "A file that cannot be taken is reported and the rest goes on; the exit code is then 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=_folder, help="folder with *.md files")
        parser.add_argument(
            "--publish",
            action="store_true",
            help="publish what is new, changed or still unpublished; "
            "what is withdrawn comes back only with a changed file",
        )
        add_actor(parser)

    def handle(self, *args: Any, folder: Path, publish: bool, actor: str, **options: Any) -> None:
        counts: Counter[str] = Counter()
        with stop_signals() as stopping, database_faults_told():
            for report in import_folder(folder, publish=publish, actor=actor, stopping=stopping):
                counts[report.change] += 1
                counts["published"] += report.published
                if report.change is Change.FAILED:
                    place = report.file_name + (f":{report.line}" if report.line else "")
                    self.stderr.write(f"{place}: {report.fault}")
            if stopping():
                self.stderr.write("Stopped on request; the files so far are done.")
        total = sum(counts[change] for change in Change)
        if not total:
            raise CommandError(f"There is no Markdown file (*.md) in {folder}.", returncode=FAILED)
        self.stdout.write(
            f"{_files(total)}: {counts['created']} new, {counts['edited']} changed, "
            f"{counts['unchanged']} unchanged, {counts['failed']} failed; "
            f"{counts['published']} published."
        )
        if counts[Change.FAILED]:
            raise CommandError(f"{_files(counts[Change.FAILED])} failed.", returncode=FAILED)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _folder(text: str) -> Path:
    # Unlike Path.is_dir, also for a name that no file system takes.
    if not os.path.isdir(text):
        said = "is not a folder" if os.path.exists(text) else "is not there"
        raise argparse.ArgumentTypeError(f"{text[:200]!r} {said}")
    return Path(text)
