"""`publish_material` and `withdraw_material`: each id by itself, the refused ones reported."""

from io import StringIO
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command

from materials import actions
from materials.events import PUBLISHED, WITHDRAWN
from materials.models import Revision
from materials.patience import patiently
from materials.refusals import TryAgain
from tests.materials.makers import draft, facts, published

pytestmark = pytest.mark.django_db


class Result(NamedTuple):
    code: int
    out: str
    err: str


def command(*words: str) -> Result:
    out, err = StringIO(), StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except CommandError as error:
        return Result(error.returncode, out.getvalue(), f"{err.getvalue()}{error}")
    return Result(0, out.getvalue(), err.getvalue())


def test_materials_are_published_one_by_one() -> None:
    draft("article-1")
    draft("article-2")

    result = command("publish_material", "article-1", "article-2", "--actor", "grace")

    assert result == (
        0,
        "article-1: published as revision 1.\narticle-2: published as revision 1.\n",
        "",
    )
    assert facts() == [("article-1", PUBLISHED, 1), ("article-2", PUBLISHED, 1)]
    assert set(Revision.objects.values_list("actor", flat=True)) == {"grace"}


def test_refused_ids_are_reported_and_the_others_are_published() -> None:
    draft("article-1")
    published("article-2", title="Queues that forgive")
    draft("article-3")

    result = command("publish_material", "article-9", "article-1", "article-2", "article-3")

    assert result.code == 1
    assert result.out.count("published as revision") == 2
    assert result.err.splitlines() == [
        "article-9: There is no material “article-9”.",
        "article-2: “Queues that forgive” is published as it stands (revision 1).",
        "2 of 4 refused.",
    ]
    assert len(facts()) == 3


def test_the_same_id_twice_is_published_once() -> None:
    draft("article-1")

    result = command("publish_material", "article-1", "article-1")

    assert result.code == 1
    assert len(facts()) == 1


def test_materials_are_withdrawn_with_their_reason() -> None:
    published("article-1")
    draft("article-2", title="Never out")
    published("article-3")
    actions.withdraw("article-3", actor="ada")

    result = command(
        "withdraw_material", "article-1", "article-2", "article-3", "--reason", "Out of date."
    )

    assert result.code == 1
    assert result.out == "article-1: withdrawn as revision 2.\n"
    assert "article-2: “Never out” was never published" in result.err
    assert "article-3: “Queues that forgive” is withdrawn already." in result.err
    assert facts()[-1] == ("article-1", WITHDRAWN, 2)
    revision = Revision.objects.get(material="article-1", number=2)
    assert (revision.reason, revision.actor, revision.user) == ("Out of date.", "console", None)


def test_an_id_that_no_terminal_can_show_is_an_unknown_material() -> None:
    result = command("publish_material", "article-\udcff", "a\x00b")

    assert result.code == 1
    result.err.encode("utf-8")
    assert result.err.count("There is no material") == 2


@pytest.mark.parametrize(
    "words",
    [
        ("publish_material",),
        ("publish_material", "article-1", "--actor", ""),
        ("publish_material", "article-1", "--actor", "x" * 151),
        ("withdraw_material", "article-1"),
        ("withdraw_material", "article-1", "--reason", "x" * 501),
        ("withdraw_material", "article-1", "--reason", "\udcff"),
        ("import_materials",),
        ("import_materials", "/nowhere/at/all"),
        ("import_materials", __file__),
        ("import_materials", "x" * 5000),
        ("import_materials", ".", "--unknown"),
    ],
)
def test_wrong_use_does_nothing(words: tuple[str, ...]) -> None:
    draft("article-1")

    result = command(*words)

    assert result.err.startswith("Error:")
    assert facts() == []


@pytest.mark.any_database
def test_who_waits_for_a_busy_database_waits_from_the_first_pause_on_twice_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("materials.patience.time.sleep", pauses.append)

    def busy() -> None:
        raise TryAgain

    with pytest.raises(TryAgain):
        patiently(busy)

    assert pauses == [0.2, 0.4, 0.8, 1.6]
