"""The real command: stopped on the way, and what it leaves."""

import time
from pathlib import Path

import pytest

from materials.models import Material
from tests.eventually import eventually
from tests.materials.makers import facts
from tests.processes.harness import Run

FILES = 3000


def test_a_stopped_import_keeps_what_is_done_and_can_be_run_again(run: Run, tmp_path: Path) -> None:
    for number in range(FILES):
        (tmp_path / f"m-{number:05}.md").write_text(f"---\ntitle: Title {number}\n---\nText.\n")

    command = run("import_materials", str(tmp_path), "--publish")
    eventually(Material.objects.exists, what="the first material")
    began = time.monotonic()

    assert command.terminate() == 0
    assert time.monotonic() - began < 5
    assert "Stopped on request" in command.stderr
    done = Material.objects.count()
    assert 0 < done < FILES
    assert f"{done} files: {done} new" in command.stdout
    assert Material.objects.filter(state="published", revision=1).count() == done
    assert len(facts()) == done
    for path in sorted(tmp_path.iterdir())[done + 5 :]:
        path.unlink()

    again = run.manage("import_materials", str(tmp_path), "--publish")

    assert again.returncode == 0
    assert f"5 new, 0 changed, {done} unchanged" in again.stdout


@pytest.mark.any_database
def test_wrong_use_exits_with_2_and_a_folder_without_files_with_1(run: Run, tmp_path: Path) -> None:
    assert run.manage("import_materials", "/nowhere/at/all").returncode == 2
    assert run.manage("import_materials", str(tmp_path)).returncode == 1
    assert run.manage("withdraw_material", "article-1").returncode == 2
    refused = run.manage("publish_material", "article-1")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "There is no material “article-1”." in refused.stderr


@pytest.mark.any_database
def test_a_database_that_is_away_or_not_set_up_is_told_in_one_line(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "article-1.md").write_text("---\ntitle: T\n---\n")
    away = "postgres://nobody:SECRETPW@127.0.0.1:9/nothing"
    empty = f"sqlite:///{tmp_path}/empty.sqlite3"
    none = f"sqlite:///{tmp_path}/none.sqlite3"
    (tmp_path / "none.sqlite3").write_text("no database at all")
    expected = (
        (away, 1, "cannot be used now"),
        (empty, 3, "manage.py migrate"),
        (none, 3, "or is none"),
    )

    for words in (("import_materials", str(tmp_path)), ("publish_material", "article-1")):
        for url, code, says in expected:
            result = run.manage(*words, DATABASE_URL=url)
            assert result.returncode == code
            assert says in result.stderr
            assert "Traceback" not in result.stderr
            assert "SECRETPW" not in result.stderr
