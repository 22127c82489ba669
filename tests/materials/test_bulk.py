"""Publishing and withdrawing many at once: each by itself, each with a result."""

import pytest
from django.test import Client

from materials import actions
from materials.bulk_views import SLICE
from materials.models import Material, Revision
from tests.materials.makers import draft, facts, person, published
from tests.materials.test_editor_pages import EVERYTHING, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


def ask(editor: Client, act: str, *material_ids: str, **fields: str):
    return editor.post("/editor/bulk/", {"act": act, "material": material_ids, **fields})


def test_first_the_page_says_what_will_happen_and_nothing_has(editor: Client) -> None:
    draft("a", title="First")
    draft("b", title="Second")
    published("c")

    text = text_of(ask(editor, "publish", "a", "b", "c"))

    assert "Publish 2 materials" in text
    assert "1 of the chosen is published as it stands and is left out." in text
    assert "First" in text
    assert len(facts()) == 1


def test_each_is_done_by_itself_with_a_result_for_each(editor: Client) -> None:
    draft("a")
    draft("b")
    draft("c")
    items = ask(editor, "publish", "a", "b", "c").context["items"]
    actions.edit("b", title="Changed meanwhile", actor="grace")

    response = editor.post("/editor/bulk/", {"act": "publish", "items": f"{items} gone:1 ??:1"})

    results = {each.material_id: (each.done, each.says) for each in response.context["results"]}
    assert results["a"] == (True, "published as revision 1")
    assert results["b"][0] is False
    assert "grace saved another draft" in results["b"][1]
    assert results["c"][0] is True
    assert "There is no material" in results["gone"][1]
    assert {material for material, _, _ in facts()} == {"a", "c"}
    assert "Published: 2 of 5" in text_of(response)
    assert "3 were refused; beside each stands why." in text_of(response)


def test_what_is_withdrawn_comes_back_only_where_that_is_ticked(editor: Client) -> None:
    draft("a", title="First")
    published("b", title="Gone")
    actions.withdraw("b", actor="grace")

    page = ask(editor, "publish", "a", "b")
    fields = {name: page.context[name] for name in ("act", "items", "withdrawn_items")}
    text = text_of(page)
    assert "Publish 1 material" in text
    assert "1 of the chosen is withdrawn and stays so, unless you tick it below." in text
    assert "Gone b withdrawn comes back to readers only if ticked above" in text

    editor.post("/editor/bulk/", fields)
    assert Material.objects.get(material_id="b").state == "withdrawn"
    assert Material.objects.get(material_id="a").state == "published"

    withdrawn_meanwhile = editor.post("/editor/bulk/", {"act": "publish", "items": "b:1"})
    assert "“Gone” is withdrawn: it comes back only if asked for." in text_of(withdrawn_meanwhile)
    assert Material.objects.get(material_id="b").state == "withdrawn"

    alone = ask(editor, "publish", "b")
    assert "Publish 1 withdrawn material again" in text_of(alone)
    assert 'name="with_withdrawn" value="yes" required' in alone.content.decode()
    editor.post("/editor/bulk/", {**fields, "items": "", "with_withdrawn": "yes"})
    assert Material.objects.get(material_id="b").state == "published"


def test_sending_the_form_twice_publishes_once(editor: Client) -> None:
    draft("a")
    items = ask(editor, "publish", "a").context["items"]

    for _ in range(2):
        response = editor.post("/editor/bulk/", {"act": "publish", "items": items})

    assert response.context["results"][0].done is False
    assert len(facts()) == 1


def test_a_withdrawal_of_many_keeps_its_reason(editor: Client) -> None:
    published("a")
    published("b")
    draft("c")
    page = ask(editor, "withdraw", "a", "b", "c")
    assert "1 of the chosen is not published" in text_of(page)

    editor.post(
        "/editor/bulk/",
        {"act": "withdraw", "items": page.context["items"], "reason": "Out of date."},
    )

    assert set(Revision.objects.filter(number=2).values_list("material_id", "reason")) == {
        ("a", "Out of date."),
        ("b", "Out of date."),
    }


def test_a_reason_that_cannot_be_kept_withdraws_nothing_and_says_why(editor: Client) -> None:
    published("a")

    response = editor.post(
        "/editor/bulk/", {"act": "withdraw", "items": "a:1", "reason": "x" * 501}
    )

    assert "At most 500 characters fit" in response.context["results"][0].says
    assert len(facts()) == 1


def test_everything_that_is_found_can_be_chosen_at_once(editor: Client) -> None:
    for number in range(60):
        draft(f"article-{number:02}", tags=["yes" if number < 55 else "no"])

    page = ask(editor, "publish", all="yes", tag="yes")

    assert len(page.context["able"]) == 55


def test_progress_is_told_slice_by_slice(editor: Client) -> None:
    for number in range(SLICE + 3):
        draft(f"article-{number:02}")
    page = ask(editor, "publish", all="yes")
    items = page.context["items"]
    # Who does not see is told what changes in a region that is there already.
    assert '<div id="progress" role="status"></div>' in page.content.decode()

    first = editor.post(
        "/editor/bulk/", {"act": "publish", "items": items}, headers={"HX-Request": "true"}
    )
    assert len(facts()) == SLICE
    assert f"{SLICE} of {SLICE + 3}" in text_of(first)
    assert 'hx-trigger="load"' in first.content.decode()
    assert '<div id="progress" hx-swap-oob="innerHTML">' in first.content.decode()
    # The page that asked gives way: no button for what is done, no state of before.
    assert '<h1 id="heading" hx-swap-oob="true"' in first.content.decode()
    assert '<div id="asked" hx-swap-oob="true"></div>' in first.content.decode()

    second = editor.post(
        "/editor/bulk/",
        {
            "act": "publish",
            "items": first.context["rest"],
            "before": str(SLICE),
            "done": str(SLICE),
        },
        headers={"HX-Request": "true"},
    )
    assert len(facts()) == SLICE + 3
    assert "hx-trigger" not in second.content.decode()
    assert f"Published: {SLICE + 3} of {SLICE + 3}" in text_of(second)
    assert "Nothing was refused." in text_of(second)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"act": "explode"},
        {"act": "publish"},
        {"act": "publish", "items": "\x00 :: a:\x00 " + "x" * 5000},
        {"act": "publish", "items": "a:1", "before": "\x00"},
        {"act": "publish", "material": ["\x00", "x" * 99]},
        {"act": "publish", "all": "yes", "q": "\x00", "tag": "\x00"},
    ],
)
def test_odd_requests_change_nothing_and_are_no_error(editor: Client, fields: dict) -> None:
    draft()

    response = editor.post("/editor/bulk/", fields, follow=True)

    assert response.status_code == 200
    assert facts() == []


@pytest.mark.parametrize("right", ["publish", "withdraw"])
def test_acts_on_many_need_the_right_to_the_act(client: Client, right: str) -> None:
    client.force_login(person("view", "change"))
    published()
    actions.edit("article-107", title="New", actor="ada")

    assert ask(client, right, "article-107").status_code == 403
    assert client.post("/editor/bulk/", {"act": right, "items": "article-107:2"}).status_code == 403
    assert client.get("/editor/bulk/")["Location"] == "/editor/"
    assert len(facts()) == 1
    assert "Publish the ticked" not in client.get("/editor/").content.decode()
    assert Material.objects.get().title == "New"
