"""What differs between two texts, and the pages that show it and bring an old one back."""

import time

import pytest
from django.test import Client

from materials import actions
from materials.content import Content
from materials.differences import MOST_LINES_SHOWN, compare, differences
from materials.models import Material
from tests.materials.makers import facts, person, published
from tests.materials.test_editor_pages import EVERYTHING, text_of


def lines(old: str, new: str) -> list[str]:
    """`-gone`, `+new`, ` same`, and `…3` for three lines left out; marked words in brackets."""
    signs = {"gone": "-", "new": "+", "same": " "}
    return [
        f"…{line.skipped}"
        if line.kind == "gap"
        else signs[line.kind]
        + "".join(f"[{piece.text}]" if piece.changed else piece.text for piece in line.pieces)
        for line in compare(old, new)
    ]


def test_a_changed_word_is_marked_in_its_line() -> None:
    assert lines("One\nTwo dogs bark.", "One\nTwo cats bark.") == [
        " One",
        "-Two [dogs] bark.",
        "+Two [cats] bark.",
    ]


def test_long_stretches_of_equal_lines_are_left_out() -> None:
    old = "\n".join(str(number) for number in range(20))
    new = old.replace("\n10\n", "\nten\n")

    assert lines(old, new) == ["…7", " 7", " 8", " 9", "-[10]", "+[ten]", " 11", " 12", " 13", "…6"]


def test_lines_put_in_and_taken_out_are_told() -> None:
    assert lines("a\nb", "a\nx\nb") == [" a", "+[x]", " b"]
    assert lines("a\nx\nb", "a\nb") == [" a", "-[x]", " b"]


def test_a_paragraph_finds_itself_again_whatever_blank_lines_surround_it() -> None:
    assert lines("\n\n\n\nKept.", "Kept.\n\n\n\n") == [
        *["-[]"] * 4,
        " Kept.",
        *["+[]"] * 4,
    ]


def test_a_blank_line_between_changed_paragraphs_stays_and_their_words_are_marked() -> None:
    assert lines("One dog.\n\nTwo dogs.", "One cat.\n\nTwo cats.") == [
        "-One [dog].",
        "+One [cat].",
        " ",
        "-Two [dogs].",
        "+Two [cats].",
    ]


def test_nothing_before_is_all_new() -> None:
    assert [(each.name, [line.kind for line in each.lines]) for each in _new()] == [
        ("title", ["new"]),
        ("body", ["new", "new"]),
        ("tags", ["new"]),
    ]


def _new():
    return differences(None, Content(title="T", body="a\nb", tags=("x",)))


def test_equal_contents_have_no_differences() -> None:
    assert differences(Content(title="T"), Content(title="T")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\n" * 100_000, "b\n" * 99_999),
        ("\n".join("ab"[n * n % 7 % 2] for n in range(99_999)), "a\nb\n" * 50_000),
        ("\n".join(["a b " * 250] * 199), "\n".join(["b a " * 250] * 199)),
        ("a " * 100_000, "b " * 100_000),
        # A line that comes again and again between lines that all differ.
        (
            "\n\n".join(f"Old {n}." for n in range(500)),
            "\n\n".join(f"New {n}." for n in range(500)),
        ),
        ("".join(f"x{n}\na\n" for n in range(500)), "".join(f"y{n}\na\n" for n in range(500))),
        ("".join(f"x{n}\na\n" for n in range(999)), "".join(f"y{n}\na\n" for n in range(999))),
        ("".join(f"x{n} a " for n in range(155)), "".join(f"y{n} a " for n in range(155))),
        ("".join(f"{n}\n" for n in range(36_000)), "".join(f"{n}\n" for n in range(36_000, 0, -1))),
    ],
)
def test_texts_of_any_length_are_compared_in_a_moment(old: str, new: str) -> None:
    started = time.process_time()
    found = list(compare(old, new))

    assert time.process_time() - started < 2
    assert len(found) <= MOST_LINES_SHOWN + 1


# --- the pages ---------------------------------------------------------------------------------


@pytest.fixture
def editor(db: None, client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


@pytest.fixture
def material(db: None) -> Material:
    """Two revisions, a withdrawal, and a draft of its own."""
    published(title="First", body="Alpha")
    actions.edit("article-107", title="Second", body="Beta", actor="grace")
    actions.publish("article-107", actor="grace")
    actions.withdraw("article-107", reason="Wrong.", actor="ada")
    return actions.edit("article-107", title="Draft", body="Gamma", actor="ada")


def test_any_two_revisions_can_be_compared(editor: Client, material: Material) -> None:
    text = text_of(editor.get("/editor/article-107/compare/?old=1&new=2"))

    assert "Before: First After: Second" in text
    assert "Before: Alpha After: Beta" in text


def test_a_revision_can_be_compared_with_the_draft(editor: Client, material: Material) -> None:
    assert "Before: Second After: Draft" in text_of(
        editor.get("/editor/article-107/compare/?old=2&new=draft")
    )


def test_the_same_side_twice_says_the_same(editor: Client, material: Material) -> None:
    assert "They say the same." in text_of(editor.get("/editor/article-107/compare/?old=2&new=2"))


@pytest.mark.parametrize("query", ["", "old=9&new=x", "old=%00", "new=" + "9" * 400, "old=-1"])
def test_odd_sides_become_the_usual_ones(editor: Client, material: Material, query: str) -> None:
    page = editor.get(f"/editor/article-107/compare/?{query}")

    assert page.status_code == 200
    assert (page.context["old"], page.context["new"]) == ("3", "draft")


def test_where_the_draft_says_the_same_the_two_newest_revisions_are_compared_first(
    editor: Client,
) -> None:
    published()
    one = editor.get("/editor/article-107/compare/").context
    actions.edit("article-107", title="Second", actor="ada")
    actions.publish("article-107", actor="ada")
    two = editor.get("/editor/article-107/compare/").context

    assert (one["old"], one["new"]) == ("1", "draft")
    assert (two["old"], two["new"]) == ("1", "2")


def test_a_draft_that_was_never_published_can_be_looked_at(editor: Client) -> None:
    actions.create("a", title="T", actor="ada")

    assert editor.get("/editor/a/compare/").status_code == 200


def test_an_old_revision_becomes_the_draft_again(editor: Client, material: Material) -> None:
    page = editor.get("/editor/article-107/compare/?old=draft&new=1")
    assert "Make revision 1 the draft again" in text_of(page)

    response = editor.post(
        "/editor/article-107/restore/", {"revision": "1", "version": material.version}
    )

    assert response["Location"] == "/editor/article-107/edit/"
    restored = Material.objects.get()
    assert (restored.title, restored.body, restored.state) == ("First", "Alpha", "withdrawn")
    assert restored.updated_by == "ada"
    assert len(facts()) == 3


def test_restoring_overwrites_no_draft_that_somebody_saved_meanwhile(
    editor: Client, material: Material
) -> None:
    actions.edit("article-107", title="Newer draft", actor="grace")

    response = editor.post(
        "/editor/article-107/restore/",
        {"revision": "1", "version": material.version},
        follow=True,
    )

    assert "grace saved another draft" in text_of(response)
    assert Material.objects.get().title == "Newer draft"


@pytest.mark.parametrize("number", ["3", "9", "", "x", "9" * 19, "\x00"])
def test_what_published_nothing_cannot_be_restored(
    editor: Client, material: Material, number: str
) -> None:
    response = editor.post("/editor/article-107/restore/", {"revision": number}, follow=True)

    assert "published nothing" in text_of(response)
    assert Material.objects.get().title == "Draft"


def test_restoring_needs_the_right_to_change_and_a_material(
    client: Client, material: Material
) -> None:
    client.force_login(person("view"))
    assert client.post("/editor/article-107/restore/", {"revision": "1"}).status_code == 403
    assert "the draft again" not in text_of(
        client.get("/editor/article-107/compare/?old=draft&new=1")
    )

    client.force_login(person("view", "change", username="grace"))
    assert client.post("/editor/unknown/restore/", {"revision": "1"}).status_code == 404
    assert client.get("/editor/article-107/restore/")["Location"] == "/editor/article-107/history/"
