"""`import_materials`: a folder of files becomes drafts or published materials, file by file."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command
from django.db import InternalError, OperationalError
from django.db.models import Model

from materials import actions, newcomers
from materials.events import PUBLISHED, WITHDRAWN
from materials.models import Material, Revision
from materials.refusals import TryAgain
from messaging.models import OutboxMessage
from tests.materials.makers import draft, facts

pytestmark = pytest.mark.django_db


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, text: str = "Text.", **fields: str) -> Path:
        fields = {"title": f"About {name}", **fields}
        path = tmp_path / name
        lines = [f"{field}: {value}" for field, value in fields.items()]
        path.write_text("\n".join(["---", *lines, "---", "", text]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def import_(tmp_path: Path) -> Callable[..., Result]:
    def run(*options: str) -> Result:
        out, err = StringIO(), StringIO()
        try:
            call_command("import_materials", str(tmp_path), *options, stdout=out, stderr=err)
        except CommandError as error:
            return Result(error.returncode, out.getvalue(), f"{err.getvalue()}{error}")
        return Result(0, out.getvalue(), err.getvalue())

    return run


def test_files_become_drafts(write, import_) -> None:
    write("article-1.md", text="Body.", summary="Short", tags="[a, b]", language="ru")
    write("other.md", id="article-2")

    result = import_("--actor", "grace")

    assert result == (
        0,
        "2 files: 2 new, 0 changed, 0 unchanged, 0 failed; 0 published.\n",
        "",
    )
    material = Material.objects.get(material_id="article-1")
    assert (material.title, material.summary, material.body) == (
        "About article-1.md",
        "Short",
        "Body.",
    )
    assert (material.language, material.tags) == ("ru", ["a", "b"])
    assert (material.state, material.created_by) == ("draft", "grace")
    assert Material.objects.filter(material_id="article-2").exists()
    assert facts() == []


def test_files_can_be_published_at_once(write, import_) -> None:
    write("article-1.md")
    write("article-2.md")

    result = import_("--publish")

    assert "2 published" in result.out
    assert facts() == [("article-1", PUBLISHED, 1), ("article-2", PUBLISHED, 1)]
    assert set(Revision.objects.values_list("actor", flat=True)) == {"console"}


def test_a_second_run_changes_nothing_and_publishes_nothing(write, import_) -> None:
    write("article-1.md", text="One\r\nTwo  \n")
    import_("--publish")
    before = list(Material.objects.values())

    result = import_("--publish")

    assert result.out == "1 file: 0 new, 0 changed, 1 unchanged, 0 failed; 0 published.\n"
    assert list(Material.objects.values()) == before
    assert len(facts()) == 1


def test_only_the_changed_file_is_edited_and_published(write, import_) -> None:
    write("article-1.md")
    write("article-2.md")
    import_("--publish")
    write("article-2.md", text="Other text.")

    result = import_("--publish")

    assert result.out == "2 files: 0 new, 1 changed, 1 unchanged, 0 failed; 1 published.\n"
    assert facts()[2:] == [("article-2", PUBLISHED, 2)]


def test_drafts_of_an_earlier_run_are_published_when_asked_for(write, import_) -> None:
    write("article-1.md")
    import_()

    result = import_("--publish")

    assert result.out == "1 file: 0 new, 0 changed, 1 unchanged, 0 failed; 1 published.\n"
    assert facts() == [("article-1", PUBLISHED, 1)]


def test_what_is_withdrawn_comes_back_only_with_a_changed_file(write, import_) -> None:
    write("article-1.md")
    import_("--publish")
    actions.withdraw("article-1", actor="ada")

    import_("--publish")
    assert facts()[-1] == ("article-1", WITHDRAWN, 2)

    write("article-1.md", text="Corrected.")
    import_("--publish")
    assert facts()[-1] == ("article-1", PUBLISHED, 3)


def test_bad_files_are_named_with_their_line_and_cost_the_others_nothing(
    write, import_, tmp_path: Path
) -> None:
    write("article-1.md")
    (tmp_path / "article-2.md").write_bytes(b"---\ntitle: T\n---\n\xff")
    write("article-3.md", title="x" * 201)
    write("article-4.md", id="Not an id")
    write("article-5.md", id="article-1")
    write("article-6.md", title="")
    (tmp_path / "article-7.md").symlink_to(tmp_path / "article-1.md")
    (tmp_path / b"article-\xff.md".decode("utf-8", "surrogateescape")).write_text("")
    write("article-9.md")

    result = import_("--publish")

    assert result.code == 1
    assert result.out == "9 files: 2 new, 0 changed, 0 unchanged, 7 failed; 2 published.\n"
    lines = result.err.splitlines()
    assert lines[0] == "article-2.md:4: not UTF-8"
    assert lines[1].startswith("article-3.md: title: At most 200 characters fit")
    assert lines[2].startswith("article-4.md: id: Use 1 to 64")
    assert lines[3] == "article-5.md: the id 'article-1' is taken by article-1.md"
    assert lines[4].startswith("article-6.md: title: Say something here")
    assert lines[5] == "article-7.md: a symbolic link is not followed"
    assert lines[6].startswith("article-\\xff.md:1: does not begin with front matter")
    assert lines[-1] == "7 files failed."
    assert [material for material, _, _ in facts()] == ["article-1", "article-9"]


@pytest.mark.parametrize("broken", ['"a\\0b"', '"\\ud800"'])
def test_an_id_that_no_database_stores_is_a_fault_of_its_file(write, import_, broken) -> None:
    write("article-1.md", id=broken)

    result = import_()

    assert result.code == 1
    assert "Use 1 to 64 characters" in result.err


@pytest.mark.parametrize("busy", [newcomers, actions], ids=["all at once", "one by one"])
def test_a_file_is_created_and_published_together_or_not_at_all(
    write, import_, monkeypatch: pytest.MonkeyPatch, busy
) -> None:
    write("article-1.md")

    def refuse(*args: object, **kwargs: object) -> None:
        raise TryAgain("busy")

    monkeypatch.setattr("materials.newcomers.outbox.record_many", refuse)
    if busy is actions:
        monkeypatch.setattr("materials.actions.outbox.record", refuse)
    monkeypatch.setattr("materials.patience.time.sleep", lambda seconds: None)
    result = import_("--publish")

    if busy is actions:
        assert result.code == 1
        assert "article-1.md: busy" in result.err
        assert not Material.objects.exists()
    else:
        assert result.code == 0
        assert facts() == [("article-1", PUBLISHED, 1)]


def test_a_busy_database_is_waited_for(write, import_, monkeypatch: pytest.MonkeyPatch) -> None:
    write("article-1.md")
    pauses: list[float] = []
    publish = actions.publish

    def refuse(*args: object, **kwargs: object) -> None:
        raise TryAgain("busy")

    def busy_at_first(*args, **kwargs):
        if len(pauses) < 2:
            raise TryAgain("busy")
        return publish(*args, **kwargs)

    monkeypatch.setattr(newcomers, "create_all", refuse)
    monkeypatch.setattr(actions, "publish", busy_at_first)
    monkeypatch.setattr("materials.patience.time.sleep", pauses.append)
    result = import_("--publish")

    assert (result.code, len(pauses)) == (0, 2)
    assert pauses == sorted(pauses)
    assert len(facts()) == 1


def test_an_id_that_somebody_takes_meanwhile_costs_its_neighbours_nothing(
    write, import_, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        write(f"article-{number}.md")
    create_all = newcomers.create_all

    def late(*args, **kwargs):
        draft("article-2", title="Written by hand")
        return create_all(*args, **kwargs)

    monkeypatch.setattr(newcomers, "create_all", late)
    result = import_("--publish")

    assert result.out == "3 files: 2 new, 1 changed, 0 unchanged, 0 failed; 3 published.\n"
    assert [material for material, _, _ in facts()] == ["article-1", "article-2", "article-3"]


def test_a_file_that_says_what_is_public_brings_the_draft_back_and_publishes_nothing(
    write, import_
) -> None:
    write("article-1.md", text="Public")
    import_("--publish")
    public = Material.objects.get()
    actions.edit("article-1", title=public.title, body="Only a draft", actor="ada")

    result = import_("--publish")

    assert result.code == 0
    assert result.out == "1 file: 0 new, 1 changed, 0 unchanged, 0 failed; 0 published.\n"
    material = Material.objects.get()
    assert (material.body, material.differs) == (public.body, False)
    assert len(facts()) == 1


def test_hundreds_are_stored_in_few_statements_each_as_if_it_had_come_alone(
    write, import_, django_assert_max_num_queries
) -> None:
    write("alone.md", text="*Body*", summary="Short", tags="[a, b]", language="ru")
    import_("--publish")
    for number in range(250):
        title = "x" * 201 if number == 123 else f"About {number}"
        fields = {"summary": "Short", "tags": "[a, b]", "language": "ru"}
        write(f"m-{number:03}.md", text="*Body*", title=title, **fields)

    with django_assert_max_num_queries(40):
        result = import_("--publish")

    assert result.out == "251 files: 249 new, 0 changed, 1 unchanged, 1 failed; 249 published.\n"
    assert result.err.startswith("m-123.md: title: At most 200 characters fit")
    alone, other = Material.objects.get(material_id="alone"), Material.objects.get(title="About 7")
    own = {"id", "material_id", "title", "search_key", "created_at", "updated_at"}
    assert _shared(alone, without=own) == _shared(other, without=own)
    assert "about" in other.search_key
    own = {"id", "material_id", "title", "happened_at", "event_id"}
    assert _shared(alone.revisions.get(), without=own) == _shared(
        other.revisions.get(), without=own
    )
    assert OutboxMessage.objects.filter(bulk=True, state="pending").count() == 250


def _shared(record: Model, *, without: set[str]) -> dict[str, object]:
    names = {field.attname for field in record._meta.concrete_fields} - without
    return {name: getattr(record, name) for name in names}


# InternalError: read-only, as after a failover.
@pytest.mark.parametrize("kind", [OperationalError, InternalError])
def test_a_database_that_is_away_ends_it_with_one_line(
    write, import_, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    write("article-1.md")

    def away(*args: object, **kwargs: object) -> None:
        raise kind("connection to postgres://user:SECRET@host refused")

    monkeypatch.setattr(newcomers, "create_all", away)
    result = import_()

    assert result.code == 1
    assert "The database cannot be used now" in result.err
    assert "SECRET" not in result.err


def test_a_folder_without_markdown_is_told_as_such(import_, tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("")

    result = import_()

    assert result.code == 1
    assert "There is no Markdown file" in result.err


def test_other_materials_are_left_alone(write, import_) -> None:
    draft("article-5", title="Written by hand")
    write("article-1.md")

    import_("--publish")

    assert Material.objects.get(material_id="article-5").state == "draft"
