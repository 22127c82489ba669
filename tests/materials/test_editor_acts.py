"""Publish and withdraw by POST: done, refused, or not allowed."""

import pytest
from django.test import Client

from materials import actions
from materials.events import PUBLISHED, WITHDRAWN
from materials.models import Material, Revision
from materials.refusals import TryAgain
from tests.materials.makers import draft, facts, person, published
from tests.materials.test_editor_pages import EVERYTHING, text_of

pytestmark = pytest.mark.django_db

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


def test_publishing_names_the_person_and_says_what_was_done(editor: Client) -> None:
    draft(title="Queues that forgive")

    response = editor.post("/editor/article-107/publish/", follow=True)

    assert response.redirect_chain == [("/editor/article-107/history/", 302)]
    assert "“Queues that forgive” is published (revision 1)." in text_of(response)
    assert facts() == [("article-107", PUBLISHED, 1)]
    revision = Revision.objects.get()
    assert (revision.actor, revision.user.get_username()) == ("ada", "ada")


def test_withdrawing_keeps_the_reason(editor: Client) -> None:
    published(title="Queues that forgive")

    response = editor.post(
        "/editor/article-107/withdraw/", {"reason": "Out\r\nof date."}, follow=True
    )

    assert "“Queues that forgive” is withdrawn (revision 2)." in text_of(response)
    assert facts()[-1] == ("article-107", WITHDRAWN, 2)
    assert Revision.objects.get(number=2).reason == "Out of date."


def test_the_reason_may_be_left_out(editor: Client) -> None:
    published()

    assert editor.post("/editor/article-107/withdraw/").status_code == 302
    assert facts()[-1] == ("article-107", WITHDRAWN, 2)


@pytest.mark.parametrize("reason", ["x" * 501, "a\x00b"])
def test_a_reason_that_cannot_be_kept_is_told_beside_its_field(editor: Client, reason: str) -> None:
    published()

    response = editor.post("/editor/article-107/withdraw/", {"reason": reason})

    assert response.status_code == 422
    assert set(response.context["withdraw_form"].errors) == {"reason"}
    assert len(facts()) == 1


def test_a_browser_comes_back_to_the_page_with_the_refusal(editor: Client) -> None:
    published(title="Queues that forgive")

    response = editor.post("/editor/article-107/publish/", headers=BROWSER, follow=True)

    assert response.redirect_chain == [("/editor/article-107/history/", 302)]
    assert "“Queues that forgive” is published as it stands" in text_of(response)
    assert len(facts()) == 1


@pytest.mark.parametrize(
    ("state", "act", "says"),
    [
        ("published", "publish", "is published as it stands"),
        ("draft", "withdraw", "was never published"),
        ("withdrawn", "withdraw", "is withdrawn already"),
    ],
)
def test_any_other_client_gets_the_refusal_as_a_conflict(
    editor: Client, state: str, act: str, says: str
) -> None:
    draft()
    if state != "draft":
        actions.publish("article-107", actor="ada")
    if state == "withdrawn":
        actions.withdraw("article-107", actor="ada")
    before = facts()

    response = editor.post(f"/editor/article-107/{act}/", headers={"Accept": "*/*"})

    assert response.status_code == 409
    assert response["Content-Type"].startswith("text/plain")
    assert says in response.content.decode()
    assert facts() == before


def test_a_busy_database_is_told_as_such(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    draft()

    def busy(*args: object, **kwargs: object) -> None:
        raise TryAgain("The database is busy: try again.")

    monkeypatch.setattr(actions, "publish", busy)
    plain = editor.post("/editor/article-107/publish/")
    shown = editor.post("/editor/article-107/publish/", headers=BROWSER, follow=True)

    assert (plain.status_code, plain["Retry-After"]) == (503, "1")
    assert "The database is busy: try again." in text_of(shown)


def test_a_button_publishes_only_the_draft_it_stood_beside(editor: Client) -> None:
    draft(title="As ada saw it")
    actions.edit("article-107", title="As grace left it", actor="grace")

    stale = editor.post("/editor/article-107/publish/", {"version": "1"})
    assert stale.status_code == 409
    assert facts() == []

    assert editor.post("/editor/article-107/publish/", {"version": "2"}).status_code == 302
    assert len(facts()) == 1


@pytest.mark.parametrize(
    ("back", "to"),
    [
        ("/editor/?state=draft", "/editor/?state=draft"),
        ("https://elsewhere.example/", "/editor/article-107/history/"),
        ("//elsewhere.example/", "/editor/article-107/history/"),
        ("/\\elsewhere.example/", "/editor/article-107/history/"),
        ("javascript:alert(1)", "/editor/article-107/history/"),
        ("", "/editor/article-107/history/"),
    ],
)
def test_the_way_back_stays_on_this_site(editor: Client, back: str, to: str) -> None:
    draft()

    assert editor.post("/editor/article-107/publish/", {"back": back})["Location"] == to


@pytest.mark.parametrize("act", ["publish", "withdraw"])
@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_only_post_acts(editor: Client, act: str, method: str) -> None:
    published()
    actions.edit("article-107", title="Another", actor="ada")

    assert getattr(editor, method)(f"/editor/article-107/{act}/").status_code == 405
    assert len(facts()) == 1


@pytest.mark.parametrize("act", ["publish", "withdraw"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_asking_shows_what_would_happen_and_changes_nothing(
    editor: Client, act: str, method: str
) -> None:
    published()
    actions.edit("article-107", title="Another", actor="ada")

    assert getattr(editor, method)(f"/editor/article-107/{act}/").status_code == 200
    assert len(facts()) == 1


def test_the_page_before_publishing_shows_what_changes_for_readers(editor: Client) -> None:
    published(title="Old title", body="One\nTwo\nThree")
    actions.edit("article-107", title="New title", body="One\nSecond\nThree", actor="ada")

    text = text_of(editor.get("/editor/article-107/publish/"))

    assert "Readers see revision 1 now. This draft becomes revision 2" in text
    assert "Before: Old title After: New title" in text
    assert "Before: Two After: Second" in text
    assert "Before: One" not in text


def test_the_page_before_publishing_says_where_there_is_nothing_to_publish(editor: Client) -> None:
    published()

    page = editor.get("/editor/article-107/publish/")

    assert "” is published as it stands" in text_of(page)
    assert "There is nothing to publish" in text_of(page)
    assert 'method="post" action="/editor/' not in page.content.decode()


@pytest.mark.parametrize("state", ["draft", "withdrawn"])
def test_the_page_before_withdrawing_says_where_there_is_nothing_to_withdraw(
    editor: Client, state: str
) -> None:
    draft()
    if state == "withdrawn":
        actions.publish("article-107", actor="ada")
        actions.withdraw("article-107", actor="ada")

    page = editor.get("/editor/article-107/withdraw/")

    assert 'name="reason"' not in page.content.decode()
    assert f"” is {'a draft' if state == 'draft' else 'withdrawn'}" in text_of(page)
    assert 'href="/editor/article-107/publish/"' in page.content.decode()


@pytest.mark.parametrize("path", ["article-107/publish/", "article-107/withdraw/", "new/"])
def test_a_post_without_the_csrf_token_changes_nothing(path: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(person(*EVERYTHING))
    published()
    actions.edit("article-107", title="Another", actor="ada")

    response = strict.post(f"/editor/{path}", {"material_id": "x", "title": "T"})

    assert response.status_code == 403
    assert ("Nothing was changed" in text_of(response)) == (path == "article-107/publish/")
    assert len(facts()) == 1
    assert Material.objects.count() == 1


def test_who_publishes_for_the_first_time_sees_what_readers_will_see(editor: Client) -> None:
    draft("new", title="First look", summary="In *short*.", body="A **loud** word.")
    published("old", body="A **loud** word.")
    actions.edit("old", title="Queues that forgive", body="A **quiet** word.", actor="ada")

    assert "A <strong>loud</strong> word." in editor.get("/editor/new/publish/").content.decode()
    assert "<strong>" not in editor.get("/editor/old/publish/").content.decode()


def test_an_editor_finds_the_way_from_a_page_that_is_not_there_to_the_list(
    editor: Client,
) -> None:
    page = text_of(editor.get("/editor/unknown/edit/"))

    assert "To the list of materials · To the catalog" in page
    assert "To the list" not in text_of(Client().get("/materials/unknown/"))
